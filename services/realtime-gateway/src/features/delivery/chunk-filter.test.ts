import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { agentTool, chunk, messageDeleted, messageDone, messageNew } from '../../../test/envelopes.js';
import { createChunkFilter } from './chunk-filter.js';

const OTHER = '01890000-0000-7000-8000-0000000000e2';
const part = (generation: number, chunkSeq: number, messageId?: string) =>
  chunk(0, { generation, chunk_seq: chunkSeq, ...(messageId !== undefined && { message_id: messageId }) });

describe('the chunk filter', () => {
  it('passes chunks only in the order of generation and chunk_seq', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 6 }))), (chunks) => {
        const accepts = createChunkFilter({ memory: 10 });
        const accepted = chunks.filter(([generation, chunkSeq]) => accepts(part(generation, chunkSeq)));
        const rank = ([generation, chunkSeq]: [number, number]): number => generation * 100 + chunkSeq;
        accepted.slice(1).forEach((current, index) => {
          expect(rank(current)).toBeGreaterThan(rank(accepted[index] ?? [0, 0]));
        });
        // It drops no chunk that is later than all previous ones.
        const highest = chunks.map(rank).reduce((most, each) => Math.max(most, each), 0);
        expect(accepted.map(rank).at(-1) ?? 0).toBe(highest);
      }),
    );
  });

  it('filters each message separately', () => {
    const accepts = createChunkFilter({ memory: 10 });
    expect(accepts(part(2, 5))).toBe(true);
    expect(accepts(part(1, 1, OTHER))).toBe(true);
  });

  it('drops chunks of a completed message, even of a later generation', () => {
    const accepts = createChunkFilter({ memory: 10 });
    accepts(part(1, 1));
    expect(accepts(messageDone(1))).toBe(true);
    expect(accepts(part(1, 2))).toBe(false);
    expect(accepts(part(2, 1))).toBe(false);
  });

  it('drops chunks of a deleted message', () => {
    const accepts = createChunkFilter({ memory: 10 });
    accepts(part(1, 1));
    expect(accepts(messageDeleted(1))).toBe(true);
    expect(accepts(part(1, 2))).toBe(false);
  });

  it('remembers the most recent messages up to its limit', () => {
    const accepts = createChunkFilter({ memory: 1 });
    accepts(messageDone(1));
    accepts(messageDone(2, OTHER));
    expect(accepts(part(1, 1, OTHER))).toBe(false);
    expect(accepts(part(1, 1))).toBe(true);
  });

  it('passes all other events', () => {
    const accepts = createChunkFilter({ memory: 10 });
    for (const envelope of [messageNew(1), messageNew(1), agentTool(1)]) expect(accepts(envelope)).toBe(true);
  });
});
