import { silentLogger } from '@uswarm/service-kit';
import { createRuntimePool } from '../src/runtimes/runtime-pool.js';
import { createRuntimeReconciler, type RuntimeReconcilerDeps } from '../src/runtimes/runtime-reconciler.js';
import {
  PlatformUnreachable,
  type RuntimeDriver,
  type RuntimeObservation,
  type RuntimeSpec,
} from '../src/runtimes/drivers/driver.js';
import { needsReconcile, specOf } from '../src/records/runtime-state.js';
import { createRuntimeRequests } from '../src/records/runtime-requests.js';
import type { LeasedJob } from '../src/platform/jobs/job-queue.js';
import { runtimeRow } from './runtime-row.js';
import { TURN_JOB } from '../src/records/turn-job.js';
import { NO_TRANSACTION } from './transaction.js';
import type { Database } from '../src/platform/database/database.js';

const JOB: LeasedJob = {
  kind: 'runtime',
  subjectId: 'w',
  workspaceId: 'w',
  leaseId: 'l',
  attempts: 1,
  failures: 0,
  takenOver: false,
};
export const ADDRESS = 'http://runtime:1';
export const STARTING_ADDRESS = 'http://10.0.0.1:1';
export const IDLE_MS = 60_000;
const NO_LIMIT = createRuntimePool({ places: 0, requestReconcile: () => undefined });
const START = new Date('2026-11-21T10:00:00Z').getTime();

/** Postgres, the platform and one runtime in memory. Transactions are atomic; all other steps can be interrupted. */
export function createRuntimeHarness({ pool = NO_LIMIT }: { pool?: RuntimeReconcilerDeps['pool'] } = {}) {
  let now = START;
  const clock = { now: () => new Date(now) };
  let deleted = false;
  const row = runtimeRow(clock.now());
  /** The runtime's desired and actual state on the platform. */
  const platform = {
    exists: false,
    suspended: false,
    running: true,
    /** The pod has an address and responds there, and the platform has not found it ready yet. */
    starting: false,
    /** Requests to `ADDRESS` reach the pod. */
    forwards: true,
    reachable: true,
    suspendedByOperator: false,
    /** The start waits for other runtimes. */
    queued: false,
    instance: 1,
    idleSince: START,
    /** The runtime works on something without a turn in the database. */
    busy: false,
    turns: [] as string[],
    revisionPending: false,
    rolloutRequested: false,
    rolloutGranted: false,
    /** Shown on the platform; null while the runtime is reachable. */
    unreachableSince: null as Date | null,
  };
  const recorded = {
    queuedTurns: 0,
    /** Summaries and titles that are not written. */
    queuedFollowUps: 0,
    suspensions: 0,
    rollouts: 0,
    resumes: 0,
    ready: [] as string[],
    ensureFailures: [] as string[],
    events: 0,
    statuses: [] as string[],
    turnsMadeDue: 0,
    reports: [] as (Date | null)[],
    writes: 0,
  };
  /** This process's lease, and the number of jobs that it enqueued. */
  const lease = { held: true, enqueued: 0, lost: new AbortController() };
  const forgotten: string[] = [];
  let interruption: (() => Promise<void>) | undefined;
  /** Another process can interfere at a gap. */
  const gap = async (): Promise<void> => {
    const run = interruption;
    interruption = undefined;
    await run?.();
  };

  const store = {
    getRuntime: async () => (await gap(), deleted ? undefined : { ...row }),
    lockRuntime: async () => row.desired,
    resumeRuntime: async () => void Object.assign(row, { desired: 'running', failures: 0, wanted_at: clock.now() }),
    updateRuntime: async (_db: Database, _id: string, update: object) => {
      recorded.writes += 1;
      Object.assign(row, update, { updated_at: clock.now() });
    },
    deleteRuntime: async () => void (deleted = true),
    findLastTurnEnd: async () => new Date(platform.idleSince),
    insertRuntime: async () => undefined,
    markRuntimeDeleted: async () => undefined,
  };
  const observe = (): RuntimeObservation => {
    const { revisionPending, rolloutRequested: requested, rolloutGranted } = platform;
    const rollout = { requested, granted: requested && rolloutGranted };
    const unreachable = platform.unreachableSince === null ? {} : { unreachable: true as const };
    return { ...observeRuntime(), ...(revisionPending ? { rollout } : {}), ...unreachable };
  };
  const observeRuntime = (): RuntimeObservation => {
    if (!runs()) return { phase: 'Suspended', reason: 'Suspended', address: null, current: !platform.running };
    if (platform.queued) return { phase: 'Progressing', reason: 'Queued', address: null, current: true };
    if (platform.running) return { phase: 'Ready', reason: '', address: ADDRESS, current: true };
    const starting = { phase: 'Progressing', reason: 'Starting', address: null, current: true } as const;
    return platform.starting ? { ...starting, startingAddress: STARTING_ADDRESS } : starting;
  };
  const runs = (): boolean => !platform.suspended && !platform.suspendedByOperator;
  const respondsAt = (address: string): boolean => {
    const { running, starting, forwards } = platform;
    return address === STARTING_ADDRESS ? running || starting : running && forwards;
  };
  /** The rollout request on the platform after it applies the spec. */
  const requestedAfter = ({ suspended, rollout }: RuntimeSpec): boolean => {
    const { revisionPending, rolloutRequested } = platform;
    if (rollout !== undefined) return rollout.requested && revisionPending;
    return rolloutRequested && (suspended || revisionPending);
  };
  const peek: RuntimeDriver['peek'] = async (specs) => {
    if (!platform.reachable) throw new PlatformUnreachable('unreachable');
    if (!platform.exists) return new Map();
    const isApplied = (spec: RuntimeSpec): boolean =>
      spec.suspended === platform.suspended &&
      requestedAfter(spec) === platform.rolloutRequested &&
      (spec.unreachableSince === undefined || spec.unreachableSince === platform.unreachableSince);
    return new Map(specs.map((spec) => [spec.workspaceId, { ...observe(), outdated: !isApplied(spec) }]));
  };
  const reconciler = createRuntimeReconciler({
    withTransaction: async (run) => {
      await gap();
      return run(NO_TRANSACTION);
    },
    database: NO_TRANSACTION,
    store,
    jobs: {
      holds: async () => lease.held,
      waits: async (kind) => (kind === TURN_JOB ? recorded.queuedTurns : recorded.queuedFollowUps) > 0,
      enqueue: async () => void (lease.enqueued += 1),
      makeDueNow: async () => void (recorded.turnsMadeDue += 1),
    },
    driver: {
      reportsLiveness: true,
      peek,
      async ensure(spec, { signal }) {
        await gap();
        signal?.throwIfAborted();
        if (!platform.reachable) throw new PlatformUnreachable('unreachable');
        Object.assign(platform, { suspended: spec.suspended, exists: true, rolloutRequested: requestedAfter(spec) });
        const { unreachableSince = platform.unreachableSince } = spec;
        if (unreachableSince !== platform.unreachableSince) recorded.reports.push(unreachableSince);
        platform.unreachableSince = unreachableSince;
        return observe();
      },
      remove: async () => {
        platform.exists = false;
        return true;
      },
      onChange: () => undefined,
    },
    client: {
      async identify({ address }) {
        await gap();
        if (!respondsAt(address)) throw new Error('no runtime is running');
        return { instanceId: String(platform.instance), features: [] };
      },
      async status({ address }) {
        await gap();
        if (!respondsAt(address)) throw new Error('no runtime is running');
        const busy = platform.busy || platform.turns.length > 0;
        const turns = platform.turns.map((turnId) => ({ turnId, generation: 1 }));
        return { busy, turns, idleMs: busy ? 0 : now - platform.idleSince };
      },
      async stopTurn(_to, { turnId }) {
        await gap();
        platform.turns = platform.turns.filter((id) => id !== turnId);
      },
      forget: (workspaceId) => void forgotten.push(workspaceId),
    },
    pool,
    events: { append: async () => (recorded.events += 1) },
    agents: {
      listAgentStatuses: async () => [{ agentId: 'a', activity: 'online', expiresInMs: null }],
    },
    publish: async ({ payload }) => (recorded.statuses.push((payload as { status: string }).status), true),
    idleSuspendAfterMs: IDLE_MS,
    metrics: {
      suspended: () => (recorded.suspensions += 1),
      suspendedForRollout: () => (recorded.rollouts += 1),
      resumed: () => (recorded.resumes += 1),
      ready: (start) => recorded.ready.push(start),
      ensureFailed: (reason) => recorded.ensureFailures.push(reason),
      differed: () => undefined,
    },
    clock,
    logger: silentLogger,
  });
  /** The job worker handles the runtime next at this time. */
  let dueAt = now;
  async function reconcile() {
    const result = await reconciler(JOB, lease.lost.signal);
    dueAt = now + ('done' in result ? Infinity : result.againInMs);
    return result;
  }
  /** True if the runtime watch finds a difference. */
  async function differs(): Promise<boolean> {
    const found = await peek([specOf(row)]).catch(() => undefined);
    if (found === undefined) return false;
    const turnWaits = (row.desired === 'suspended' || row.phase !== 'Ready') && recorded.queuedTurns > 0;
    return needsReconcile({ ...row, turnWaits }, found.get(row.workspace_id), clock.now());
  }
  const requests = createRuntimeRequests({
    store,
    jobs: { enqueue: async () => undefined, tryMakeDueNow: async () => void (dueAt = now) },
    makeDueNow: async () => void (dueAt = now),
    metrics: { resumed: () => undefined },
  });

  return {
    row,
    platform,
    recorded,
    lease,
    forgotten,
    reconcile,
    /** Reconciles if the job worker or the runtime watch would. @returns true if it did */
    async reconcileIfDue(): Promise<boolean> {
      const due = now >= dueAt || (await differs());
      if (due) await reconcile();
      return due;
    },
    /** Deletes the runtime and its row, as another process does after it took over the lease. */
    deleteRuntime() {
      deleted = true;
      Object.assign(platform, { exists: false });
    },
    /** Stores a message as the message service does. */
    async storeMessage() {
      await requests.ensureResumed('w', NO_TRANSACTION);
      recorded.queuedTurns += 1;
    },
    /** Stores a message as release 0.2 does: without resuming the runtime. */
    queueTurnOfOldReplica: () => void (recorded.queuedTurns += 1),
    completeTurns() {
      if (row.phase !== 'Ready' || !respondsAt(row.address ?? '') || recorded.queuedTurns === 0) return;
      recorded.queuedTurns = 0;
      platform.idleSince = now;
    },
    /** The platform starts a desired runtime's pod, and has not found it ready yet. */
    startPod() {
      if (platform.running || platform.starting || !runs()) return;
      Object.assign(platform, { starting: true, instance: platform.instance + 1, idleSince: now });
    },
    applyOnPlatform() {
      const isNew = runs() && !platform.running && !platform.starting;
      if (isNew) Object.assign(platform, { instance: platform.instance + 1, idleSince: now });
      Object.assign(platform, { running: runs(), starting: false });
      if (!runs()) platform.revisionPending = false;
    },
    publishRevision: () => void Object.assign(platform, { revisionPending: true, rolloutGranted: false }),
    /** The controller grants a requested rollout, and withdraws a grant that is not requested. */
    grantRollout: () => void (platform.rolloutGranted = platform.rolloutRequested),
    now: () => clock.now(),
    advance: (ms: number) => void (now += ms),
    /** Runs `run` at gap `after` in the next reconcile, counted from 0. */
    interrupt: (run: () => Promise<void>, after: number) => {
      const wait = (left: number): (() => Promise<void>) =>
        left === 0 ? run : async () => void (interruption = wait(left - 1));
      interruption = wait(after);
    },
    clearInterruption: () => void (interruption = undefined),
  };
}

export type RuntimeHarness = ReturnType<typeof createRuntimeHarness>;
