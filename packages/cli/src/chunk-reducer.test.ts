import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { addChunk, NOTHING_STREAMED, textOf, type Chunk } from './chunk-reducer.js';

const reduce = (chunks: readonly Chunk[]) => chunks.reduce(addChunk, NOTHING_STREAMED);

/** The chunks of one or more generations, each generation in order. */
const generations = fc
  .array(fc.array(fc.string(), { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 4 })
  .map((texts) =>
    texts.map((parts, index) => parts.map((chunk, at): Chunk => ({ generation: index + 1, chunk_seq: at + 1, chunk }))),
  );

const inAnyOrder = generations.chain((all) => {
  const chunks = all.flat();
  return fc.record({
    last: fc.constant(all.at(-1)!),
    arrived: fc.tuple(shuffled(chunks), fc.subarray(chunks)).map(([order, again]) => [...order, ...again]),
  });
});

function shuffled<Item>(items: Item[]): fc.Arbitrary<Item[]> {
  return fc.shuffledSubarray(items, { minLength: items.length, maxLength: items.length });
}

describe('the chunk reducer', () => {
  it('returns the text of the newest generation for reordered and duplicate chunks', () => {
    fc.assert(
      fc.property(inAnyOrder, ({ last, arrived }) => {
        const expected = last.map(({ chunk }) => chunk).join('');
        expect(textOf(reduce(arrived))).toBe(expected);
      }),
    );
  });

  it('only appends text while the chunks of one generation arrive in order', () => {
    fc.assert(
      fc.property(generations, ([chunks]) => {
        let before = '';
        let streamed = NOTHING_STREAMED;
        for (const chunk of chunks!) {
          streamed = addChunk(streamed, chunk);
          expect(textOf(streamed)).toBe(before + chunk.chunk);
          before = textOf(streamed);
        }
      }),
    );
  });

  it('removes retracted text for chunks in any order', () => {
    const chunks: Chunk[] = [
      { generation: 1, chunk_seq: 1, chunk: 'Paris is' },
      { generation: 1, chunk_seq: 2, chunk: ' in Ita' },
      { generation: 1, chunk_seq: 3, chunk: ' the capital', offset: 8 },
      { generation: 1, chunk_seq: 4, chunk: ' of France.' },
    ];
    fc.assert(
      fc.property(shuffled(chunks), (arrived) => {
        expect(textOf(reduce(arrived))).toBe('Paris is the capital of France.');
      }),
    );
  });

  it('does not modify its input', () => {
    const first = reduce([{ generation: 1, chunk_seq: 1, chunk: 'a' }]);
    addChunk(first, { generation: 1, chunk_seq: 2, chunk: 'b' });
    expect(textOf(first)).toBe('a');
  });

  it('starts with an empty text', () => {
    expect(textOf(NOTHING_STREAMED)).toBe('');
  });
});
