import { afterEach, describe, expect, it } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { createLeaseKeeper } from './lease-keeper.js';
import type { HeldLease, LeasedJob } from './job-queue.js';
import { createJobWorker, type JobWorker, type JobWorkerDeps, type JobResult } from './job-worker.js';

const job = (subjectId: string, failures = 0): LeasedJob => ({
  kind: 'k',
  subjectId,
  workspaceId: 'w',
  leaseId: `lease of ${subjectId}`,
  attempts: 1,
  failures,
  takenOver: false,
});

/** Claims due jobs from a list, and records all calls. */
function listStore(due: string[]) {
  const log: string[] = [];
  let holds = true;
  return {
    due,
    log,
    lose: () => {
      holds = false;
    },
    claim: async (_kind: string, limit: number) => due.splice(0, limit).map((id) => job(id)),
    extend: async (leases: readonly HeldLease[]) => {
      for (const { job: leased } of leases) log.push(`extend ${leased.subjectId}`);
      return new Set(holds ? leases.map(({ job: leased }) => leased.leaseId) : []);
    },
    complete: async ({ subjectId }: LeasedJob) => void log.push(`complete ${subjectId}`),
    release: async ({ subjectId }: LeasedJob, ms: number) => void log.push(`release ${subjectId} ${ms}`),
  };
}

function gate() {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

describe('createJobWorker', () => {
  let worker: JobWorker | undefined;
  afterEach(() => worker?.close());

  const start = (
    store: ReturnType<typeof listStore>,
    handle: JobWorkerDeps['handle'],
    more: Partial<JobWorkerDeps> = {},
  ): JobWorker => {
    worker = createJobWorker({
      kind: 'k',
      store,
      leases: createLeaseKeeper({ store, logger: silentLogger }),
      logger: silentLogger,
      concurrency: 2,
      handle,
      ...more,
    });
    return worker;
  };
  const logged = (store: ReturnType<typeof listStore>, count: number) =>
    eventually(() => store.log, { until: (log) => log.length >= count });

  it.each<[JobResult, string]>([
    [{ done: true }, 'complete a'],
    [{ againInMs: 70 }, 'release a 70'],
  ])('completes or releases a job depending on the result of its handler: %j', async (result, entry) => {
    const store = listStore(['a']);
    start(store, async () => result);
    expect(await logged(store, 1)).toEqual([entry]);
  });

  it('leaves a job alone that its handler has completed', async () => {
    const store = listStore(['a', 'b']);
    start(store, async ({ subjectId }) => ({ done: true, ...(subjectId === 'a' ? { isCompleted: true } : {}) }), {
      concurrency: 1,
    });
    expect(await logged(store, 1)).toEqual(['complete b']);
  });

  it.each([
    [0, 500, 1_000],
    [2, 2_000, 4_000],
    [50, 15_000, 30_000],
  ])('releases the job as failed after %d failures and another one, for %d to %d ms', async (failures, least, most) => {
    const store = listStore(['a']);
    const given: [number, boolean | undefined][] = [];
    const failing = {
      ...store,
      claim: async (_kind: string, limit: number) => store.due.splice(0, limit).map((id) => job(id, failures)),
      release: async (_work: LeasedJob, ms: number, failed?: boolean) => void given.push([ms, failed]),
    };
    const handle = async () => {
      throw new Error('on purpose');
    };
    start(store, handle, { store: failing });
    const [[ms, failed] = []] = await eventually(() => given, { until: (all) => all.length > 0 });
    expect(failed).toBe(true);
    expect(ms).toBeGreaterThanOrEqual(least);
    expect(ms).toBeLessThanOrEqual(most);
  });

  it('forwards the signal of a job if it has no free worker, unless another process has forwarded it', async () => {
    const store = listStore(['a']);
    const { opened, open } = gate();
    let forwarded = 0;
    const handled: string[] = [];
    const handle = async ({ subjectId }: LeasedJob): Promise<JobResult> => {
      handled.push(subjectId);
      await opened;
      return { done: true };
    };
    const started = start(store, handle, { concurrency: 1, forward: () => (forwarded += 1) });
    started.poll();
    await eventually(() => handled, { until: (all) => all.length === 1 });
    const before = forwarded;
    started.poll(true);
    expect(forwarded).toBe(before);
    started.poll();
    expect(forwarded).toBe(before + 1);
    open();
  });

  it('reports the beginning of a run, and its end after the result is stored', async () => {
    const store = listStore(['a', 'b']);
    const onRun = ({ subjectId }: LeasedJob) => {
      store.log.push(`run ${subjectId}`);
      return () => void store.log.push(`end ${subjectId}`);
    };
    const handle = async ({ subjectId }: LeasedJob): Promise<JobResult> => {
      if (subjectId === 'b') throw new Error('on purpose');
      return { done: true };
    };
    start(store, handle, { concurrency: 1, onRun });
    await eventually(() => store.log, { until: (log) => log.includes('end b') });
    expect(store.log).toEqual([
      'run a',
      'complete a',
      'end a',
      'run b',
      expect.stringMatching(/^release b \d/),
      'end b',
    ]);
  });

  it('handles a released job when it is due, without waiting for the next poll', async () => {
    const store = listStore(['a']);
    let times = 0;
    const handle = async (): Promise<JobResult> => {
      times += 1;
      if (times === 1) store.due.push('a');
      return times === 1 ? { againInMs: 20 } : { done: true };
    };
    start(store, handle, { concurrency: 1 });
    expect(await logged(store, 2)).toEqual(['release a 20', 'complete a']);
  });

  it('counts jobs by outcome, and takeovers', async () => {
    const store = listStore(['done', 'again', 'broken']);
    const counted: string[] = [];
    const metrics = {
      handled: (kind: string, outcome: string) => void counted.push(`${kind} ${outcome}`),
      takenOver: (kind: string) => void counted.push(`${kind} taken over`),
    };
    const claim = async (_kind: string, limit: number) =>
      store.due.splice(0, limit).map((id) => ({ ...job(id), takenOver: id === 'again' }));
    const handle = async ({ subjectId }: LeasedJob): Promise<JobResult> => {
      if (subjectId === 'broken') throw new Error('on purpose');
      return subjectId === 'done' ? { done: true } : { againInMs: 1 };
    };
    start(store, handle, { store: { ...store, claim }, metrics });
    await eventually(() => counted, { until: (all) => all.length >= 4 });
    expect(counted.toSorted()).toEqual(['k again', 'k done', 'k failed', 'k taken over']);
  });

  it('handles all jobs with at most the configured concurrency', async () => {
    const store = listStore(['a', 'b', 'c', 'd', 'e']);
    let running = 0;
    let most = 0;
    start(store, async () => {
      running += 1;
      most = Math.max(most, running);
      await Promise.resolve();
      running -= 1;
      return { done: true };
    });
    expect((await logged(store, 5)).toSorted()).toEqual(['a', 'b', 'c', 'd', 'e'].map((id) => `complete ${id}`));
    expect(most).toBe(2);
  });

  it('polls immediately when it is signalled', async () => {
    const store = listStore(['a']);
    const polled = start(store, async () => ({ done: true }));
    await logged(store, 1);
    store.due.push('b');
    polled.poll();
    expect(await logged(store, 2)).toEqual(['complete a', 'complete b']);
  });

  it('extends the lease while a handler runs', async () => {
    const store = listStore(['a']);
    const end = gate();
    start(store, () => end.opened.then(() => ({ done: true as const })), { leaseMs: 30 });
    await eventually(() => store.log.length, { until: (count) => count >= 3 });
    end.open();
    const log = await eventually(() => store.log, { until: (entries) => entries.includes('complete a') });
    expect(new Set(log)).toEqual(new Set(['extend a', 'complete a']));
  });

  it('aborts the signal of a handler whose lease is lost', async () => {
    const store = listStore(['a']);
    store.lose();
    let aborted = false;
    const handle = (_work: LeasedJob, signal: AbortSignal) =>
      new Promise<JobResult>((resolve) => {
        signal.addEventListener('abort', () => {
          aborted = true;
          resolve({ againInMs: 0 });
        });
      });
    start(store, handle, { leaseMs: 30 });
    expect(await eventually(() => aborted, { until: Boolean })).toBe(true);
  });

  it('close aborts and awaits the running handlers, and claims no further job', async () => {
    const store = listStore(['a']);
    const handle = (_work: LeasedJob, signal: AbortSignal) =>
      new Promise<JobResult>((resolve) => {
        signal.addEventListener('abort', () => resolve({ againInMs: 5 }));
      });
    const stopping = start(store, handle, { concurrency: 1 });
    await eventually(() => store.due.length, { until: (count) => count === 0 });
    store.due.push('b');
    await stopping.close();
    expect({ log: store.log, due: store.due }).toEqual({ log: ['release a 5'], due: ['b'] });
  });

  it('close releases a job whose handler it interrupts immediately, and counts no failure', async () => {
    const store = listStore(['a']);
    const given: [number, boolean | undefined][] = [];
    const watched = {
      ...store,
      release: async (_work: LeasedJob, ms: number, failed?: boolean) => void given.push([ms, failed]),
    };
    const handle = (_work: LeasedJob, signal: AbortSignal) =>
      new Promise<JobResult>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
    const stopping = start(store, handle, { store: watched });
    await eventually(() => store.due.length, { until: (count) => count === 0 });
    await stopping.close();
    expect(given).toEqual([[0, false]]);
  });

  it('claims no job with concurrency 0', async () => {
    const store = listStore(['a']);
    const idle = start(store, async () => ({ done: true }), { concurrency: 0 });
    idle.poll();
    await idle.close();
    expect(store.due).toEqual(['a']);
  });

  it('claims again after an error of the store', async () => {
    const store = listStore(['a']);
    let fails = 1;
    const failing = {
      ...store,
      claim: async (kind: string, limit: number) => {
        if (fails-- > 0) throw new Error('connection terminated');
        return store.claim(kind, limit);
      },
    };
    start(store, async () => ({ done: true }), { store: failing });
    expect(await logged(store, 1)).toEqual(['complete a']);
  });
});
