import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubernetesObject } from '@uswarm/kube-client';
import { silentLogger, systemClock } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { createWorkQueue, type WorkQueue } from '../queue/work-queue.js';
import type { Memory, SyncResult } from './sync.js';
import { createWorkers, type Workers } from './workers.js';

const userSwarm: KubernetesObject = { apiVersion: 'a', kind: 'UserSwarm', metadata: { name: 'w', uid: 'u1' } };

describe('the workers', () => {
  let queue: WorkQueue;
  let outcome: SyncResult['outcome'];
  let parent: KubernetesObject | undefined;
  let during: () => void;
  let gone: string[];
  let memories: Memory[];
  let stopping: AbortController;
  let running: Promise<void>;
  let workers: Workers;

  beforeEach(() => {
    queue = createWorkQueue({ backoff: { initialMs: 1_000, maxMs: 1_000 } });
    outcome = 'synced';
    parent = userSwarm;
    during = () => {};
    gone = [];
    memories = [];
    stopping = new AbortController();
    workers = createWorkers({
      queue,
      workers: 2,
      resyncMs: 600_000,
      sync: async (_key, { memory }) => {
        memories.push(memory);
        during();
        return { outcome };
      },
      parentOf: () => parent,
      onSynced: () => {},
      onGone: (uid) => gone.push(uid),
      clock: systemClock,
      logger: silentLogger,
    });
    running = workers.run(stopping.signal);
  });
  afterEach(async () => {
    stopping.abort();
    await running;
    queue.close();
  });

  const work = async (): Promise<void> => {
    const before = memories.length;
    queue.add('w');
    await eventually(() => memories.length > before);
  };

  it('keep the state of a UserSwarm between reconciles until it is deleted', async () => {
    await work();
    await work();
    expect(memories[1]).toBe(memories[0]);
    expect(gone).toEqual([]);
    outcome = 'gone';
    await work();
    expect(gone).toEqual(['u1']);
    await work();
    expect(memories[3]).not.toBe(memories[0]);
  });

  it.each<[string, () => void]>([
    ['succeeds', () => (parent = undefined)],
    [
      'fails',
      () => {
        parent = undefined;
        throw new Error('no');
      },
    ],
  ])('forget a UserSwarm that is deleted during a reconcile that %s', async (_how, sideEffect) => {
    during = sideEffect;
    await work();
    await eventually(() => gone.length > 0);
    expect(gone).toEqual(['u1']);
    expect(workers.oldestReconcileAgeS()).toBe(0);
  });

  it('keep no state after they stop', async () => {
    await work();
    stopping.abort();
    await running;
    expect(gone).toEqual(['u1']);
  });

  it('report the age of the oldest reconcile while they run', async () => {
    expect(workers.oldestReconcileAgeS()).toBe(0);
    await work();
    await eventually(() => workers.oldestReconcileAgeS() > 0.05);
    await work();
    const ago = workers.oldestReconcileAgeS();
    await eventually(() => workers.oldestReconcileAgeS() > ago);
    stopping.abort();
    await running;
    expect(workers.oldestReconcileAgeS()).toBe(0);
  });

  it('report the age of the oldest reconcile for more UserSwarms than the argument limit of a call', async () => {
    const count = 150_000;
    for (let at = 0; at < count; at += 1) queue.add(`w${at}`);
    // Seconds, but minutes beside other tests.
    await eventually(() => memories.length === count, { timeoutMs: 600_000 });
    expect(workers.oldestReconcileAgeS()).toBeGreaterThan(0);
  });
});
