import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { chooseMemories, CORE_BYTES, RELEVANT_BYTES } from './choose-memories.js';
import type { RankedMemory } from '../../records/memories.store.js';

const memory = (key: string, more: Partial<RankedMemory> = {}): RankedMemory => ({
  key,
  core: false,
  bytes: 100,
  updated_at: new Date(0),
  score: 0,
  ...more,
});

describe('the memories of a turn', () => {
  it('are the last changed core memories, then the others in the order of their rank', () => {
    const ranked = [
      memory('best'),
      memory('old', { core: true }),
      memory('new', { core: true, updated_at: new Date(9) }),
      memory('next'),
    ];
    expect(chooseMemories(ranked)).toEqual(['new', 'old', 'best', 'next']);
  });

  it('include core memories beyond their limit by relevance', () => {
    const large = memory('large', { core: true, bytes: CORE_BYTES, updated_at: new Date(9) });
    expect(chooseMemories([memory('more', { core: true }), large])).toEqual(['large', 'more']);
  });

  it('skip a memory that does not fit', () => {
    expect(chooseMemories([memory('huge', { bytes: RELEVANT_BYTES + 1 }), memory('small')])).toEqual(['small']);
  });

  it('fit into the limits, without duplicates', () => {
    const any = fc.array(
      fc.record({
        core: fc.boolean(),
        bytes: fc.nat({ max: RELEVANT_BYTES }),
        updated_at: fc.date({ noInvalidDate: true }),
      }),
    );
    fc.assert(
      fc.property(any, (rows) => {
        const ranked = rows.map((row, index) => memory(String(index), row));
        const chosen = chooseMemories(ranked);
        const bytes = chosen.reduce((sum, key) => sum + ranked[Number(key)]!.bytes, 0);
        expect(bytes).toBeLessThanOrEqual(CORE_BYTES + RELEVANT_BYTES);
        expect(new Set(chosen).size).toBe(chosen.length);
      }),
    );
  });
});
