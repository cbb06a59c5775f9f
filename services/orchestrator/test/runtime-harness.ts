import { silentLogger } from '@uswarm/service-kit';
import type { Database } from '../src/database/database.js';
import { createRuntimeReconciler } from '../src/features/runtimes/runtime-reconciler.js';
import {
  PlatformUnreachable,
  type RuntimeDriver,
  type RuntimeObservation,
  type RuntimeSpec,
} from '../src/features/runtimes/drivers/driver.js';
import { isSettled, specOf } from '../src/features/runtimes/runtime-state.js';
import { createRuntimeRequests } from '../src/features/runtimes/runtime-requests.js';
import type { LeasedJob } from '../src/jobs/job-store.js';
import { runtimeRow } from './runtime-row.js';
import { withoutAfterCommit } from './transaction.js';

const WORK: LeasedJob = {
  kind: 'runtime',
  subjectId: 'w',
  workspaceId: 'w',
  leaseId: 'l',
  attempts: 1,
  failures: 0,
  takenOver: false,
};
const NO_DATABASE = withoutAfterCommit({} as Database);
export const ADDRESS = 'http://runtime:1';
export const IDLE_MS = 60_000;
const START = new Date('2026-11-21T10:00:00Z').getTime();

/** Postgres, a platform and a runtime in memory. Transactions are atomic, everything else can be interrupted. */
export function createWorld() {
  let now = START;
  const clock = { now: () => new Date(now) };
  let gone = false;
  const row = runtimeRow(clock.now());
  /** What the platform was told, what it made of it, and since when the runtime does nothing. */
  const platform = {
    there: false,
    suspended: false,
    runs: true,
    reachable: true,
    held: false,
    instance: 1,
    idleSince: START,
    /** It works on something of which nobody here knows. */
    busy: false,
    /** A new revision waits for the runtime; whether it may be stopped for it, and should be. */
    pending: false,
    wanted: false,
    granted: false,
  };
  const seen = {
    turns: 0,
    suspensions: 0,
    rollouts: 0,
    wakes: 0,
    ready: [] as string[],
    ensureFailures: [] as string[],
    events: 0,
    statuses: [] as string[],
    turnsHurried: 0,
    /** Of the row of the runtime. */
    writes: 0,
  };
  /** Of this process' lease, and of what it put in for others. */
  const lease = { held: true, enqueued: 0, lost: new AbortController() };
  const forgotten: string[] = [];
  let interruption: (() => Promise<void>) | undefined;
  /** Where another process may come in between. */
  const gap = async (): Promise<void> => {
    const run = interruption;
    interruption = undefined;
    await run?.();
  };

  const store = {
    get: async () => (await gap(), gone ? undefined : { ...row }),
    lock: async () => row.desired,
    resume: async () => void Object.assign(row, { desired: 'running', failures: 0, wanted_at: clock.now() }),
    update: async (_id: string, update: object) => {
      seen.writes += 1;
      Object.assign(row, update, { updated_at: clock.now() });
    },
    remove: async () => void (gone = true),
    want: async () => undefined,
    unwant: async () => undefined,
  };
  const observe = (): RuntimeObservation => {
    const { pending, wanted, granted } = platform;
    return { ...observeRuntime(), ...(pending ? { rollout: { wanted, granted: wanted && granted } } : {}) };
  };
  const observeRuntime = (): RuntimeObservation => {
    const suspend = platform.suspended || platform.held;
    if (suspend) return { phase: 'Suspended', reason: 'Suspended', address: null, current: !platform.runs };
    if (platform.runs) return { phase: 'Ready', reason: '', address: ADDRESS, current: true };
    return { phase: 'Progressing', reason: 'Starting', address: null, current: true };
  };
  /** What the platform marks once it is asked to bring a runtime to this. */
  const asked = ({ suspended, rollout }: RuntimeSpec): boolean => {
    const { pending, wanted } = platform;
    return rollout === undefined ? wanted && (suspended || pending) : rollout.wanted && pending;
  };
  const peek: RuntimeDriver['peek'] = async (specs) => {
    if (!platform.reachable) throw new PlatformUnreachable('cut');
    if (!platform.there) return new Map();
    const done = (spec: RuntimeSpec): boolean =>
      spec.suspended === platform.suspended && asked(spec) === platform.wanted;
    return new Map(specs.map((spec) => [spec.workspaceId, { ...observe(), outdated: !done(spec) }]));
  };
  const lifecycle = createRuntimeReconciler({
    withTransaction: async (run) => {
      await gap();
      return run(NO_DATABASE);
    },
    store,
    jobs: {
      holds: async () => lease.held,
      waits: async () => seen.turns > 0,
      enqueue: async () => void (lease.enqueued += 1),
      makeDueNow: async () => void (seen.turnsHurried += 1),
    },
    driver: {
      reportsLiveness: true,
      peek,
      async ensure(spec, { signal }) {
        await gap();
        signal?.throwIfAborted();
        if (!platform.reachable) throw new PlatformUnreachable('cut');
        Object.assign(platform, { suspended: spec.suspended, there: true, wanted: asked(spec) });
        return observe();
      },
      remove: async () => {
        platform.there = false;
        return true;
      },
      onChange: () => undefined,
    },
    client: {
      async identify() {
        await gap();
        if (!platform.runs) throw new Error('nobody is there');
        return { instanceId: String(platform.instance) };
      },
      async status() {
        await gap();
        if (!platform.runs) throw new Error('nobody is there');
        return { busy: platform.busy, idleMs: platform.busy ? 0 : now - platform.idleSince };
      },
      forget: (workspaceId) => void forgotten.push(workspaceId),
    },
    events: { append: async () => (seen.events += 1) },
    agents: {
      list: async () => [
        {
          id: 'a',
          name: 'A',
          role: 'r',
          kind: 'manager',
          slug: 'a',
          avatar_url: '',
          activity: 'online',
          phase: null,
          silent_since: null,
        },
      ],
    },
    publish: async ({ payload }) => (seen.statuses.push((payload as { status: string }).status), true),
    idleSuspendAfterMs: IDLE_MS,
    metrics: {
      suspended: () => (seen.suspensions += 1),
      suspendedForRollout: () => (seen.rollouts += 1),
      woken: () => (seen.wakes += 1),
      ready: (start) => seen.ready.push(start),
      ensureFailed: (reason) => seen.ensureFailures.push(reason),
      differed: () => undefined,
    },
    clock,
    logger: silentLogger,
  });
  /** When the work queue handles the runtime next. */
  let dueAt = now;
  async function look() {
    const result = await lifecycle(WORK, lease.lost.signal);
    dueAt = now + ('done' in result ? Infinity : result.againInMs);
    return result;
  }
  /** What the runtime watch finds when it compares the runtime. */
  async function differs(): Promise<boolean> {
    const found = await peek([specOf(row)]).catch(() => undefined);
    if (found === undefined) return false;
    const turnWaits = row.desired === 'suspended' && seen.turns > 0;
    return turnWaits || !isSettled(row, found.get(row.workspace_id), clock.now());
  }
  const wishes = createRuntimeRequests({
    store,
    jobs: { enqueue: async () => undefined, nudge: async () => void (dueAt = now) },
    makeDueNow: async () => void (dueAt = now),
    metrics: { woken: () => undefined },
  });

  return {
    row,
    platform,
    seen,
    lease,
    forgotten,
    look,
    /** A look as the work queue and the runtime watch cause it. @returns whether there was one */
    async lookIfDue(): Promise<boolean> {
      const due = now >= dueAt || (await differs());
      if (due) await look();
      return due;
    },
    /** All of the runtime is removed, as by another process that took the lease over. */
    removed() {
      gone = true;
      Object.assign(platform, { there: false });
    },
    /** A message comes, as the message service stores it. */
    async message() {
      await wishes.ensureResumed('w', NO_DATABASE);
      seen.turns += 1;
    },
    /** A message comes by a replica of an older version, which wakes nobody. */
    messageOfBefore: () => void (seen.turns += 1),
    /** The runtime answers what waits, if it can. */
    answer() {
      if (row.phase !== 'Ready' || !platform.runs || seen.turns === 0) return;
      seen.turns = 0;
      platform.idleSince = now;
    },
    /** The platform does what it was told. */
    catchUp() {
      const runs = !platform.suspended && !platform.held;
      if (runs && !platform.runs) Object.assign(platform, { instance: platform.instance + 1, idleSince: now });
      platform.runs = runs;
      if (!runs) platform.pending = false;
    },
    /** Another release of the platform. */
    release: () => void Object.assign(platform, { pending: true, granted: false }),
    /** The controller gives the go-ahead where it is wanted, and takes it back where it is not. */
    grant: () => void (platform.granted = platform.wanted),
    now: () => clock.now(),
    pass: (ms: number) => void (now += ms),
    /** At the next place where another process may come in between. */
    interrupt: (run: () => Promise<void>, after: number) => {
      const wait = (left: number): (() => Promise<void>) =>
        left === 0 ? run : async () => void (interruption = wait(left - 1));
      interruption = wait(after);
    },
    uninterrupted: () => void (interruption = undefined),
  };
}

export type World = ReturnType<typeof createWorld>;
