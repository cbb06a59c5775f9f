import assert from 'node:assert/strict';
import { describe, expect, it } from '@jest/globals';
import type { StreamState } from '@uswarm/contract';
import fc from 'fast-check';
import { type ReceivedText, type StreamChunk, StreamTexts } from './stream-texts.js';

const PLACE = { message_id: 'm1', conversation_id: 'c1', agent_id: 'a1' };

/** Chunks from a runtime that adds text and sometimes takes some back, and the text after each. */
interface Script {
  chunks: StreamChunk[];
  texts: string[];
}

function scriptOf(pieces: readonly { text: string; back: number }[], generation = 1): Script {
  const texts: string[] = [];
  let text = '';
  const chunks = pieces.map(({ text: added, back }, index) => {
    const offset = Math.max(0, text.length - back);
    text = text.slice(0, offset) + added;
    texts.push(text);
    return { ...PLACE, generation, chunk_seq: index + 1, offset, chunk: added };
  });
  return { chunks, texts };
}

const script = (maxLength = 30): fc.Arbitrary<Script> =>
  fc
    .array(
      fc.record({
        text: fc.string({ maxLength: 4 }),
        back: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(6) }),
      }),
      { minLength: 1, maxLength },
    )
    .map((pieces) => scriptOf(pieces));

/** A client that follows the documented rule, at any position. */
class Client {
  text = '';
  #received: ReceivedText | undefined;

  /** @returns whether there was a chunk */
  pull(streams: StreamTexts): boolean {
    const next = streams.next('m1', Infinity, this.#received);
    if (next === undefined) return false;
    if (this.#received?.generation !== next.generation) this.text = '';
    assert.ok(next.offset <= this.text.length, 'the chunk leaves a hole');
    this.text = this.text.slice(0, next.offset) + next.chunk;
    this.#received = { generation: next.generation, chunkSeq: next.chunk_seq, length: this.text.length };
    return true;
  }
}

const stateOf = ({ texts }: Script, count: number): StreamState => ({
  ...PLACE,
  generation: 1,
  chunk_seq: count,
  text: texts[count - 1] ?? '',
});

describe('the texts of a hub', () => {
  it('are the text of the runtime for clients that pull at any time', () => {
    fc.assert(
      fc.property(script(), fc.array(fc.boolean(), { minLength: 30, maxLength: 30 }), ({ chunks, texts }, pulls) => {
        const streams = new StreamTexts();
        const [eager, late] = [new Client(), new Client()];
        chunks.forEach((chunk, index) => {
          streams.apply(chunk, 0);
          eager.pull(streams);
          if (pulls[index] === true) late.pull(streams);
          expect(eager.text).toBe(texts[index]);
        });
        late.pull(streams);
        expect(late.text).toBe(texts.at(-1));
        expect(late.pull(streams)).toBe(false);
      }),
    );
  });

  it('are a text that the runtime had, at all times, if any chunks are lost or repeated', () => {
    const fates = fc.array(fc.constantFrom('deliver', 'lose', 'repeat', 'restore'), { minLength: 30, maxLength: 30 });
    fc.assert(
      fc.property(script(), fates, fc.nat(29), (whole, fate, joinsAt) => {
        const streams = new StreamTexts();
        const clients = [new Client()];
        const valid = new Set(['', ...whole.texts]);
        whole.chunks.forEach((chunk, index) => {
          if (index === joinsAt) clients.push(new Client());
          if (fate[index] !== 'lose') streams.apply(chunk, 0);
          if (fate[index] === 'repeat') streams.apply(whole.chunks[Math.floor(index / 2)]!, 0);
          if (fate[index] === 'restore') streams.restore(stateOf(whole, index), 0);
          for (const client of clients) {
            client.pull(streams);
            expect(valid).toContain(client.text);
          }
        });
        streams.restore(stateOf(whole, whole.chunks.length), 0);
        expect(streams.incomplete).toBe(false);
        for (const client of clients) {
          client.pull(streams);
          expect(client.text).toBe(whole.texts.at(-1));
        }
      }),
    );
  });

  it('continue with the chunks that arrived after a lost one, as soon as the lost text is restored', () => {
    const whole = scriptOf(['a', 'b', 'c', 'd'].map((text) => ({ text, back: 0 })));
    const streams = new StreamTexts();
    for (const index of [0, 2, 3]) streams.apply(whole.chunks[index]!, 0);
    expect(streams.states(0)).toMatchObject([{ text: 'a' }]);
    expect(streams.incomplete).toBe(true);
    expect(streams.restore(stateOf(whole, 2), 0)).toBe(true);
    expect(streams.states(0)).toMatchObject([{ text: 'abcd', chunk_seq: 4 }]);
    expect(streams.incomplete).toBe(false);
  });

  it('continue when another orchestrator takes over, which repeats what was not saved', () => {
    fc.assert(
      fc.property(script(), fc.nat(30), fc.nat(30), (whole, a, b) => {
        const streams = new StreamTexts();
        const client = new Client();
        const [saved, published] = [Math.min(a, b), Math.max(a, b)].map((n) => Math.min(n, whole.chunks.length));
        const later = whole.chunks.slice(saved).map((chunk) => ({ ...chunk, chunk_seq: chunk.chunk_seq + 10_000 }));
        for (const chunk of [...whole.chunks.slice(0, published), ...later]) {
          streams.apply(chunk, 0);
          client.pull(streams);
          expect(['', ...whole.texts]).toContain(client.text);
        }
        if (streams.incomplete || published === 0)
          streams.restore({ ...stateOf(whole, whole.chunks.length), chunk_seq: 20_000 }, 0);
        client.pull(streams);
        expect(client.text).toBe(whole.texts.at(-1));
      }),
    );
  });

  it('have no text whose beginning is missing', () => {
    const whole = scriptOf(['a', 'b', 'c'].map((text) => ({ text, back: 0 })));
    const streams = new StreamTexts();
    streams.apply(whole.chunks[1]!, 0);
    expect({ states: streams.states(0), incomplete: streams.incomplete }).toEqual({ states: [], incomplete: true });
    streams.restore(stateOf(whole, 2), 0);
    expect(streams.states(0)).toMatchObject([{ text: 'ab' }]);
  });

  it('accept a chunk that rewrites the text from its beginning', () => {
    const streams = new StreamTexts();
    streams.apply({ ...PLACE, generation: 1, chunk_seq: 9, offset: 0, chunk: 'all' }, 0);
    expect(streams.states(0)).toMatchObject([{ text: 'all', chunk_seq: 9 }]);
  });

  it('append chunks of release 0.2, which have no offset', () => {
    const streams = new StreamTexts();
    const chunk = (chunk_seq: number, text: string) => ({ ...PLACE, generation: 1, chunk_seq, chunk: text });
    for (const [index, text] of ['a', 'b'].entries()) streams.apply(chunk(index + 1, text), 0);
    streams.apply(chunk(4, 'd'), 0);
    expect(streams.states(0)).toMatchObject([{ text: 'ab' }]);
  });

  it('do not begin with a chunk of release 0.2 that follows a missing one', () => {
    const streams = new StreamTexts();
    streams.apply({ ...PLACE, generation: 1, chunk_seq: 7, chunk: 'tail' }, 0);
    expect({ states: streams.states(0), incomplete: streams.incomplete }).toEqual({ states: [], incomplete: true });
    streams.restore({ ...PLACE, generation: 1, chunk_seq: 6, text: 'head, ' }, 0);
    expect(streams.states(0)).toMatchObject([{ text: 'head, tail' }]);
  });

  it('begin again with a later generation, and ignore an earlier one', () => {
    const streams = new StreamTexts();
    const client = new Client();
    const chunk = (generation: number, chunk_seq: number, offset: number, text: string) =>
      streams.apply({ ...PLACE, generation, chunk_seq, offset, chunk: text }, 0);
    chunk(1, 1, 0, 'old');
    client.pull(streams);
    chunk(2, 1, 0, 'new');
    chunk(1, 2, 3, 'er');
    client.pull(streams);
    expect(client.text).toBe('new');
    // A text that becomes empty is removed as well.
    chunk(3, 1, 0, '');
    expect(client.pull(streams)).toBe(true);
    expect(client.text).toBe('');
  });

  it('end with their message or conversation, and ignore late chunks', () => {
    const streams = new StreamTexts();
    const chunk = (message_id: string, chunk_seq: number) =>
      streams.apply({ ...PLACE, message_id, generation: 1, chunk_seq, offset: chunk_seq - 1, chunk: 'x' }, 0);
    for (const id of ['m1', 'm2', 'm3']) chunk(id, 1);
    streams.end('m1');
    chunk('m1', 2);
    expect(streams.states(0).map(({ message_id }) => message_id)).toEqual(['m2', 'm3']);
    streams.endConversation('c1');
    chunk('m2', 2);
    expect(streams.states(0)).toEqual([]);
  });

  it('begin again after they were cleared, also of a message that had ended', () => {
    const streams = new StreamTexts();
    for (const end of [() => streams.end('m1'), () => streams.endConversation('c1')]) {
      end();
      streams.clear();
      streams.apply({ ...PLACE, generation: 2, chunk_seq: 1, offset: 0, chunk: 'again' }, 0);
      expect(streams.states(0)).toMatchObject([{ text: 'again' }]);
    }
  });

  it('wait until the client has the event that the text follows', () => {
    const streams = new StreamTexts();
    streams.apply({ ...PLACE, generation: 1, chunk_seq: 1, offset: 0, chunk: 'x' }, 5);
    expect(streams.next('m1', 4, undefined)).toBeUndefined();
    expect(streams.next('m1', 5, undefined)).toMatchObject({ chunk: 'x' });
  });

  it('are not sent while the stream may have ended', () => {
    const streams = new StreamTexts();
    const chunk = (chunk_seq: number, after: number) =>
      streams.apply({ ...PLACE, generation: 1, chunk_seq, offset: chunk_seq - 1, chunk: 'x' }, after);
    chunk(1, 1);
    streams.doubt('m1', 3);
    // It was published before the event that may have ended the stream.
    chunk(2, 1);
    expect({ states: streams.states(9), incomplete: streams.incomplete }).toEqual({ states: [], incomplete: true });
    chunk(3, 3);
    expect(streams.states(9)).toMatchObject([{ text: 'xxx' }]);
    streams.doubt('m1', 4);
    streams.restore({ ...PLACE, generation: 1, chunk_seq: 1, text: 'x' }, 4);
    expect(streams.states(9)).toMatchObject([{ text: 'xxx' }]);
  });

  it('may all have ended if events are unknown, except for those with a chunk after these events', () => {
    const streams = new StreamTexts();
    const begin = (message_id: string, after: number): void =>
      void streams.apply({ ...PLACE, message_id, generation: 1, chunk_seq: 1, offset: 0, chunk: 'x' }, after);
    begin('before', 2);
    begin('after', 3);
    streams.doubtAll(3);
    begin('late', 2);
    expect(streams.states(9).map(({ message_id }) => message_id)).toEqual(['after']);
  });

  it('are not sent because of an older response of the orchestrator', () => {
    const streams = new StreamTexts();
    streams.doubtAll(3);
    streams.restore({ ...PLACE, generation: 1, chunk_seq: 1, text: 'x' }, 2);
    expect(streams.states(9)).toEqual([]);
    streams.restore({ ...PLACE, generation: 1, chunk_seq: 1, text: 'x' }, 3);
    expect(streams.states(9)).toMatchObject([{ text: 'x' }]);
  });

  it('are removed if they may have ended and the orchestrator does not know them', () => {
    const streams = new StreamTexts();
    const begin = (message_id: string): void =>
      void streams.apply({ ...PLACE, message_id, generation: 1, chunk_seq: 1, offset: 0, chunk: 'x' }, 1);
    for (const id of ['sure', 'ended', 'known', 'later']) begin(id);
    streams.doubt('ended', 3);
    streams.doubt('known', 3);
    streams.doubt('later', 5);
    for (let n = 0; n < 3; n += 1) streams.dropUnknown(new Set(['known']), 3);
    expect([...streams.ids()]).toEqual(['sure', 'known', 'later']);
  });

  it('are limited in number', () => {
    const streams = new StreamTexts();
    for (let n = 0; n < 1_000; n += 1) {
      streams.apply({ ...PLACE, message_id: `m${n}`, generation: 1, chunk_seq: 1, offset: 0, chunk: 'x' }, 0);
    }
    expect(streams.size).toBe(64);
  });
});
