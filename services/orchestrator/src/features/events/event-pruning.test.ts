import { describe, expect, it } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import type { LeasedJob } from '../../jobs/job-store.js';
import { createEventPruning, EVENT_PRUNING } from './event-pruning.js';

const NOW = new Date('2026-11-21T10:00:00Z');
const WORK: LeasedJob = { ...EVENT_PRUNING, leaseId: 'l', attempts: 1, failures: 0, takenOver: false };

function pruning(rows: number) {
  const asked: Date[] = [];
  let left = rows;
  const handle = createEventPruning({
    store: {
      prune: async (before, limit) => {
        asked.push(before);
        const removed = Math.min(left, limit);
        left -= removed;
        return removed;
      },
    },
    keepMs: 7 * 86_400_000,
    clock: { now: () => NOW },
    logger: silentLogger,
  });
  return { handle, asked, left: () => left };
}

describe('event pruning', () => {
  it('continues until no old event is left, and runs again an hour later', async () => {
    const { handle, asked, left } = pruning(12_000);
    expect(await handle(WORK, new AbortController().signal)).toEqual({ againInMs: 3_600_000 });
    expect({ left: left(), before: new Set(asked.map((before) => before.toISOString())) }).toEqual({
      left: 0,
      before: new Set(['2026-11-14T10:00:00.000Z']),
    });
  });

  it('releases the job when its process stops', async () => {
    const { handle, asked } = pruning(12_000);
    expect(await handle(WORK, AbortSignal.abort())).toEqual({ againInMs: 0 });
    expect(asked).toEqual([]);
  });
});
