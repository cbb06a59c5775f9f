import { backoffDelay, type Clock, type Logger } from '@uswarm/service-kit';
import type { JobQueue, LeasedJob } from '../platform/jobs/job-queue.js';
import type { JobResult } from '../platform/jobs/job-worker.js';
import { TURN_JOB } from '../records/turn-job.js';
import { PlatformUnreachable, type RuntimeDriver } from './drivers/driver.js';
import type { RuntimeClient } from './runtime-client.js';
import type { RuntimeMetrics } from './runtime-metrics.js';
import { createRuntimeObserver } from './runtime-observer.js';
import type { RuntimePool } from './runtime-pool.js';
import {
  isPolled,
  isRolloutComplete,
  isSettled,
  isSuspendedForRollout,
  nextState,
  QUEUED,
  secondsToReady,
  specOf,
} from '../records/runtime-state.js';
import { CHECK_MS, createRuntimeSuspension } from './runtime-suspension.js';
import { createRuntimeUpdates, type RuntimeUpdatesDeps } from './runtime-updates.js';
import type { RuntimeRow } from '../records/runtimes.store.js';
import type * as runtimeRecords from '../records/runtimes.store.js';
import type { Database } from '../platform/database/database.js';

export interface RuntimeReconcilerDeps extends Omit<RuntimeUpdatesDeps, 'store' | 'jobs'> {
  database: Database;
  store: Pick<
    typeof runtimeRecords,
    'lockRuntime' | 'resumeRuntime' | 'getRuntime' | 'findLastTurnEnd' | 'updateRuntime' | 'deleteRuntime'
  >;
  jobs: Pick<JobQueue, 'holds' | 'waits' | 'enqueue' | 'makeDueNow'>;
  driver: RuntimeDriver;
  client: Pick<RuntimeClient, 'identify' | 'status' | 'stopTurn' | 'forget'>;
  pool: Pick<RuntimePool, 'isQueued' | 'mustYield' | 'keep'>;
  /** Idle runtimes are suspended after this many ms; 0 disables it. */
  idleSuspendAfterMs: number;
  metrics: RuntimeMetrics;
  clock: Clock;
  logger: Logger;
}

/** A settled runtime is not polled: the runtime watch makes its job due when the runtime changes. */
const SETTLED_MS = 365 * 24 * 3_600_000;
const RETRY = { initialMs: 250, maxMs: 5_000 };
/** After about 40 s of failed checks, a runtime is checked less often. */
const QUICK_RETRIES = 12;
const SLOW_RETRY_MS = 15_000;

/** Handles runtime jobs: brings one runtime to its desired state, and stores and publishes what changed. */
export function createRuntimeReconciler(deps: RuntimeReconcilerDeps) {
  const { database, store, jobs, driver, client, pool, clock, logger, metrics, idleSuspendAfterMs } = deps;
  const observer = createRuntimeObserver({ driver, client, jobs, metrics, clock, logger });
  const updates = createRuntimeUpdates(deps);
  const suspension = createRuntimeSuspension({
    database,
    store,
    jobs,
    client,
    observer,
    updates,
    pool,
    idleSuspendAfterMs,
    metrics,
    clock,
  });

  /** True if nothing is left to do, and the platform reports every further change. */
  async function settled(row: RuntimeRow, now: Date): Promise<boolean> {
    if (isSuspendedForRollout(row) || isPolled(row, now)) return false;
    try {
      return isSettled(row, (await driver.peek([specOf(row)])).get(row.workspace_id), now);
    } catch (error) {
      if (error instanceof PlatformUnreachable) return false;
      throw error;
    }
  }

  async function retryMs(row: RuntimeRow): Promise<number> {
    // The platform reports the start, so a queued runtime is not polled.
    if (row.reason === QUEUED && (await settled(row, clock.now()))) return SETTLED_MS;
    if (row.failures <= QUICK_RETRIES) return backoffDelay(RETRY, row.failures - 1);
    return driver.reportsLiveness && (await settled(row, clock.now())) ? SETTLED_MS : SLOW_RETRY_MS;
  }

  async function resume(workspaceId: string): Promise<void> {
    await deps.withTransaction(async (tx) => {
      if ((await store.lockRuntime(tx, workspaceId)) === 'suspended') await store.resumeRuntime(tx, workspaceId);
    });
  }

  /** Older replicas store messages without resuming the runtime for their turns. */
  async function resumeForTurns(row: RuntimeRow): Promise<RuntimeRow> {
    const workspaceId = row.workspace_id;
    if (row.desired !== 'suspended' || !(await jobs.waits(TURN_JOB, workspaceId))) return row;
    await resume(workspaceId);
    metrics.resumed();
    return (await store.getRuntime(database, workspaceId)) ?? row;
  }

  /** If the runtime was deleted in the meantime, this replica may have created it again: a new job deletes it. */
  async function handleLostLease({ kind, subjectId, workspaceId }: LeasedJob): Promise<void> {
    if ((await store.getRuntime(database, subjectId)) !== undefined) return;
    await deps.withTransaction((tx) => jobs.enqueue({ kind, subjectId, workspaceId }, tx));
  }

  async function reconcile(job: LeasedJob, stored: RuntimeRow, signal: AbortSignal): Promise<JobResult> {
    const row = await resumeForTurns(stored);
    const { observed, instanceId } = await observer.observe(row, signal);
    const update = nextState(row, observed, instanceId, clock.now());
    if (!(await updates.persist(job, row, update))) {
      await handleLostLease(job);
      return { againInMs: CHECK_MS };
    }
    const seconds = secondsToReady(row, update);
    if (seconds !== undefined) metrics.ready(row.identified_at === null ? 'first' : 'resume', seconds);
    const next = { ...row, ...update };
    if (isRolloutComplete(row, observed)) {
      await resume(row.workspace_id);
      return { againInMs: 0 };
    }
    const evictedMs = await suspension.suspendIfEvicted(job, next, signal);
    if (evictedMs === 0 || (await suspension.suspendIfUnneeded(job, next))) return { againInMs: 0 };
    if (next.failures > 0) return { againInMs: Math.min(evictedMs, await retryMs(next)) };
    const idleMs = await suspension.suspendIfIdle(job, next, signal);
    const rolloutMs = idleMs === 0 ? 0 : await suspension.suspendForRollout(job, next, observed, signal);
    const againInMs = Math.min(evictedMs, idleMs, rolloutMs);
    if (againInMs === 0) return { againInMs };
    return { againInMs: Math.min(againInMs, (await settled(next, clock.now())) ? SETTLED_MS : CHECK_MS) };
  }

  return async (job: LeasedJob, signal: AbortSignal): Promise<JobResult> => {
    const { subjectId } = job;
    const row = await store.getRuntime(database, subjectId);
    if (row !== undefined && row.desired !== 'deleted') return reconcile(job, row, signal);
    if (!(await driver.remove(subjectId))) return { againInMs: backoffDelay(RETRY, job.attempts) };
    client.forget(subjectId);
    await store.deleteRuntime(database, subjectId);
    return { done: true };
  };
}
