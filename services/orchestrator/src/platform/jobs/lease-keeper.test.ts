import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import { createLeaseKeeper, type LeaseKeeper } from './lease-keeper.js';
import type { HeldLease, LeasedJob } from './job-queue.js';

const LEASE_MS = 900;
const BEAT_MS = LEASE_MS / 3;

const jobOf = (subjectId: string): LeasedJob => ({
  kind: 'k',
  subjectId,
  workspaceId: 'w',
  leaseId: `lease of ${subjectId}`,
  attempts: 1,
  failures: 0,
  takenOver: false,
});

describe('createLeaseKeeper', () => {
  let calls: string[][];
  let extend: (leases: readonly HeldLease[]) => Promise<Set<string>>;
  let keeper: LeaseKeeper;
  const lost = jest.fn<(subject: string) => void>();
  beforeEach(() => {
    jest.useFakeTimers();
    lost.mockClear();
    calls = [];
    extend = async (leases) => new Set(leases.map(({ job: { leaseId } }) => leaseId));
    const store = {
      extend: (leases: readonly HeldLease[]) => {
        calls.push(leases.map(({ job: { subjectId } }) => subjectId));
        return extend(leases);
      },
    };
    keeper = createLeaseKeeper({ store, logger: silentLogger });
  });
  afterEach(() => void jest.useRealTimers());
  const hold = (subject: string, leaseMs = LEASE_MS) => keeper.hold(jobOf(subject), leaseMs, () => lost(subject));

  it('extends all leases in one statement, at the interval of the shortest one', async () => {
    hold('a', 10 * LEASE_MS);
    hold('b');
    hold('c');
    await jest.advanceTimersByTimeAsync(2 * BEAT_MS);
    expect(calls).toEqual([
      ['a', 'b', 'c'],
      ['a', 'b', 'c'],
    ]);
    expect(lost).not.toHaveBeenCalled();
  });

  it('leaves out a lease that another statement has extended, and extends it when no other one does', async () => {
    hold('a');
    hold('b');
    await jest.advanceTimersByTimeAsync(BEAT_MS / 2);
    keeper.extended(['lease of a', 'unknown'], performance.now());
    await jest.advanceTimersByTimeAsync(2 * BEAT_MS);
    expect(calls).toEqual([['b'], ['a', 'b']]);
    expect(lost).not.toHaveBeenCalled();
  });

  it('extends a lease in time while shorter ones start and end', async () => {
    hold('a');
    for (let at = 0; at < 3 * BEAT_MS; at += BEAT_MS / 3) {
      const release = hold('short', LEASE_MS / 2);
      await jest.advanceTimersByTimeAsync(BEAT_MS / 3);
      release();
    }
    expect(calls.filter((subjects) => subjects.includes('a')).length).toBeGreaterThanOrEqual(3);
    expect(lost).not.toHaveBeenCalled();
  });

  it('does not extend a released lease, and stops its timer without leases', async () => {
    const release = hold('a');
    const releaseOther = hold('b');
    release();
    await jest.advanceTimersByTimeAsync(BEAT_MS);
    releaseOther();
    await jest.advanceTimersByTimeAsync(10 * BEAT_MS);
    expect(calls).toEqual([['b']]);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('reports only the lease that another process has taken over', async () => {
    extend = async () => new Set(['lease of b']);
    hold('a');
    hold('b');
    await jest.advanceTimersByTimeAsync(3 * BEAT_MS);
    expect(lost.mock.calls).toEqual([['a']]);
    expect(calls.at(-1)).toEqual(['b']);
  });

  it.each<[string, () => Promise<Set<string>>]>([
    ['fails', () => Promise.reject(new Error('connection terminated'))],
    ['does not respond', () => new Promise(() => undefined)],
  ])('reports a lease as lost when it expires while the database %s, not earlier', async (_how, answer) => {
    extend = answer;
    hold('a');
    await jest.advanceTimersByTimeAsync(3 * BEAT_MS);
    expect(lost).not.toHaveBeenCalled();
    await jest.advanceTimersByTimeAsync(BEAT_MS);
    expect(lost.mock.calls).toEqual([['a']]);
  });
});
