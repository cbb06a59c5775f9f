import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import type { LeasedJob } from '../../platform/jobs/leased-job.js';
import type { CommittedEvent } from '../../records/event-log.js';
import { type CommittedEvents, createCommittedEvents } from './committed-events.js';
import type { PublishedRange } from './outbox.store.js';
import { type Relay, type RelayDeps, startRelay } from './relay.js';
import { NO_TRANSACTION } from '../../../test/transaction.js';

const NEVER_MS = 3_600_000;

describe('a relay that has published the events of its process', () => {
  let committed: CommittedEvents;
  let published: number[];
  let removed: [number, number][];
  let staying: Set<string>;
  let relay: Relay;
  let extended: string[];
  const leases: RelayDeps['leases'] = {
    all: () => [{ job: { leaseId: 'l' } as LeasedJob, leaseMs: 1 }],
    extended: (leaseIds) => void extended.push(...leaseIds),
  };
  beforeEach(() => {
    committed = createCommittedEvents();
    [published, removed, staying, extended] = [[], [], new Set(), []];
  });
  afterEach(() => relay.close());

  const start = (advanceMs: number): void => {
    relay = startRelay({
      database: NO_TRANSACTION,
      store: {
        findDueEvents: async () => [],
        async announceRelay(_db, _id, _expiryMs, held) {
          return { running: [], held: held.map(({ job }) => job.leaseId) };
        },
        removeRelay: async () => undefined,
        async advanceOutbox(_db, ranges: readonly PublishedRange[]) {
          removed.push(...ranges.map(({ fromSeq, uptoSeq }): [number, number] => [fromSeq, uptoSeq]));
          return staying;
        },
      },
      async publish(workspaces) {
        published.push(...workspaces.flat().map(({ seq }) => seq));
        const ranges = workspaces
          .flat()
          .map(({ workspaceId, seq, createdAt: at }) => ({ workspaceId, fromSeq: seq, uptoSeq: seq, at }));
        return { ranges, complete: true };
      },
      committed,
      logger: silentLogger,
      pollMs: NEVER_MS,
      pauseMs: 0,
      leases,
      advanceMs,
    });
  };
  const event = (seq: number): CommittedEvent => ({
    workspaceId: 'w',
    seq,
    type: 'workspace.updated',
    subjectId: 'w',
    createdAt: new Date(0),
    ageS: 0,
  });
  const publish = async (seq: number): Promise<void> => {
    committed.push(event(seq));
    await eventually(() => published.at(-1), { until: (last) => last === seq });
  };

  it('removes those of a short time from the outbox together', async () => {
    start(1_000);
    for (const seq of [1, 2, 3]) await publish(seq);
    expect(removed).toEqual([]);
    await eventually(() => removed.length, { until: (count) => count > 0 });
    expect(removed).toEqual([[1, 3]]);
  });

  it('removes those again whose row was locked, with the next ones', async () => {
    start(10);
    staying = new Set(['w']);
    await publish(1);
    await eventually(() => removed.length, { until: (count) => count > 0 });
    await sleep(30);
    expect(removed).toEqual([[1, 1]]);
    staying = new Set();
    await publish(2);
    await eventually(() => removed.length, { until: (count) => count > 1 });
    expect(removed.at(-1)).toEqual([1, 2]);
  });

  it('has extended the leases of its process with its announcement', async () => {
    start(NEVER_MS);
    await eventually(() => extended, { until: ({ length }) => length > 0 });
    expect(extended).toEqual(['l']);
  });

  it('removes the last ones when it is closed', async () => {
    start(NEVER_MS);
    await publish(1);
    expect(removed).toEqual([]);
    await relay.close();
    expect(removed).toEqual([[1, 1]]);
  });
});
