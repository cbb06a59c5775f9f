import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { CommittedEvent } from '../../records/event-log.js';
import { createCommittedEvents } from './committed-events.js';
import type { PublishedRange } from './outbox.store.js';
import { createPublishedRanges } from './published-ranges.js';
import { shardsOf } from './relay.js';

describe('shardsOf', () => {
  it('gives each shard to exactly one of the running relays, in equal parts', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.uuid(), { minLength: 1, maxLength: 12 }), (relays) => {
        const parts = relays.map((relay) => shardsOf(relay, relays));
        expect(parts.flat().toSorted((a, b) => a - b)).toEqual(Array.from({ length: 64 }, (_, shard) => shard));
        const sizes = parts.map(({ length }) => length);
        expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
      }),
    );
  });
});

describe('published ranges', () => {
  const range = fc
    .record({ workspaceId: fc.constantFrom('a', 'b'), fromSeq: fc.nat(20), length: fc.nat(5) })
    .map(({ length, ...rest }): PublishedRange => ({ ...rest, uptoSeq: rest.fromSeq + length, at: new Date(0) }));

  it('contain exactly the seqs that were added, as few ranges in order', () => {
    fc.assert(
      fc.property(fc.array(fc.array(range)), (additions) => {
        const ranges = createPublishedRanges();
        const model = { a: new Set<number>(), b: new Set<number>() };
        for (const added of additions) {
          ranges.add(added);
          for (const { workspaceId, fromSeq, uptoSeq } of added)
            for (let seq = fromSeq; seq <= uptoSeq; seq += 1) model[workspaceId as 'a' | 'b'].add(seq);
        }
        for (const id of ['a', 'b'] as const) {
          for (let seq = 0; seq < 30; seq += 1) expect(ranges.has(id, seq)).toBe(model[id].has(seq));
          const own = ranges.all().filter(({ workspaceId }) => workspaceId === id);
          const touching = own.filter(({ fromSeq }, index) => fromSeq <= (own[index - 1]?.uptoSeq ?? -2) + 1);
          expect(touching).toEqual([]);
        }
      }),
    );
  });

  it('forget those that are removed, and all before them, but not those that were added meanwhile', () => {
    const ranges = createPublishedRanges();
    const rangeOf = (workspaceId: string, fromSeq: number, uptoSeq: number) => ({
      workspaceId,
      fromSeq,
      uptoSeq,
      at: new Date(0),
    });
    ranges.add([rangeOf('a', 1, 2), rangeOf('a', 5, 6), rangeOf('b', 1, 2)]);
    const removed = ranges.all().filter(({ workspaceId }) => workspaceId === 'a');
    ranges.add([rangeOf('a', 7, 8)]);
    ranges.remove(removed);
    expect(ranges.all()).toEqual([rangeOf('a', 7, 8), rangeOf('b', 1, 2)]);
  });
});

describe('committed events', () => {
  const event = (workspaceId: string, seq: number): CommittedEvent => ({
    workspaceId,
    seq,
    type: 'workspace.updated',
    subjectId: workspaceId,
    createdAt: new Date(0),
    ageS: 0,
  });

  it('are taken in seq order per workspace, each once, and few of a workspace at a time', () => {
    const pushed = fc.uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 1, max: 40 })), {
      selector: ([workspaceId, seq]) => `${workspaceId}${seq}`,
    });
    fc.assert(
      fc.property(
        pushed,
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 9 }),
        (events, workspaces, limit) => {
          const committed = createCommittedEvents();
          for (const [workspaceId, seq] of events) committed.push(event(workspaceId, seq));
          const taken: string[] = [];
          for (;;) {
            const round = committed.take({ workspaces, events: limit });
            if (round.length === 0) break;
            expect(round.length).toBeLessThanOrEqual(workspaces);
            for (const part of round) {
              expect(part.length).toBeLessThanOrEqual(limit);
              taken.push(...part.map(({ workspaceId, seq }) => `${workspaceId}${seq}`));
            }
          }
          for (const id of ['a', 'b', 'c']) {
            const seqs = events.flatMap(([workspaceId, seq]) => (workspaceId === id ? [seq] : []));
            const own = taken.filter((one) => one.startsWith(id)).map((one) => Number(one.slice(1)));
            expect(own).toEqual(seqs.toSorted((a, b) => a - b));
          }
        },
      ),
    );
  });

  it('are forgotten above a limit and when they are cleared', () => {
    const committed = createCommittedEvents();
    let calls = 0;
    committed.onPush(() => (calls += 1));
    for (let seq = 1; seq <= 10_001; seq += 1) committed.push(event('a', seq));
    expect(calls).toBe(10_000);
    committed.clear();
    expect(committed.take({ workspaces: 9, events: 9 })).toEqual([]);
    committed.push(event('a', 1));
    expect(committed.take({ workspaces: 9, events: 9 })).toEqual([[event('a', 1)]]);
  });
});
