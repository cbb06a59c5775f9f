import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createChunkStream, type TextPart } from './reply-stream.js';

/** `at(ms)` runs what is due until then. */
function setUp() {
  const parts: TextPart[] = [];
  let time = 0;
  let due: { at: number; task: () => void } | undefined;
  const stream = createChunkStream({
    publish: (part) => void parts.push(part),
    now: () => time,
    schedule(task, delayMs) {
      due = { at: time + delayMs, task };
      return () => void (due = undefined);
    },
  });
  const at = (ms: number): void => {
    while (due !== undefined && due.at <= ms) {
      const { at: dueAt, task } = due;
      [time, due] = [dueAt, undefined];
      task();
    }
    time = ms;
  };
  return { stream, parts, at };
}

/** The text in a client that applies all parts. */
const shown = (parts: readonly TextPart[]): string =>
  parts.reduce((text, { offset, text: part }) => text.slice(0, offset) + part, '');

/** Bytes without the text: five UUIDs, 17 field names, numbers and times. */
const HEADER_BYTES = 460;

describe('the stream of a text', () => {
  it('publishes the first part immediately, and joins later ones', () => {
    const { stream, parts, at } = setUp();
    for (const word of ['a', 'b', 'c']) stream.add(word);
    expect(parts).toEqual([{ text: 'a', offset: 0, chunkSeq: 1 }]);
    at(50);
    stream.add('d');
    expect(parts.at(-1)).toEqual({ text: 'bc', offset: 1, chunkSeq: 2 });
    stream.flush();
    expect(parts.at(-1)).toEqual({ text: 'd', offset: 3, chunkSeq: 3 });
  });

  it('costs at most 8 times the bytes of the text for 1,000 tokens at 50 per second', () => {
    const { stream, parts, at } = setUp();
    for (let token = 0; token < 1_000; token += 1) {
      at(token * 20);
      stream.add(' word');
    }
    stream.flush();
    const bytes = parts.reduce((sum, { text }) => sum + HEADER_BYTES + text.length, 0);
    expect(shown(parts)).toBe(' word'.repeat(1_000));
    expect(bytes).toBeLessThanOrEqual(8 * 5_000);
  });

  it('shows each client a prefix of what was added, whatever is retracted', () => {
    const step = fc.record({
      text: fc.string({ maxLength: 4 }),
      back: fc.nat({ max: 6 }),
      ms: fc.nat({ max: 400 }),
    });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const { stream, parts, at } = setUp();
        let [text, time] = ['', 0];
        for (const { text: added, back, ms } of steps) {
          const offset = Math.max(0, text.length - back);
          text = text.slice(0, offset) + added;
          stream.add(added, offset);
          expect(stream.length).toBe(text.length);
          at((time += ms));
        }
        stream.flush();
        expect(shown(parts)).toBe(text);
        expect(parts.map(({ chunkSeq }) => chunkSeq)).toEqual(parts.map((_, index) => index + 1));
      }),
    );
  });

  it('continues the numbers of another process', () => {
    const { stream, parts } = setUp();
    stream.begin(7, 20);
    stream.add('x');
    expect(parts).toEqual([{ text: 'x', offset: 7, chunkSeq: 21 }]);
  });
});
