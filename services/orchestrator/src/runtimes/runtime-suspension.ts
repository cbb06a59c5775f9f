import type { Clock } from '@uswarm/service-kit';
import type { JobQueue, LeasedJob } from '../platform/jobs/job-queue.js';
import { SUMMARY_JOB, TITLE_JOB } from '../turns/summaries/follow-ups.js';
import { TURN_JOB } from '../records/turn-job.js';
import type { RuntimeObservation } from './drivers/driver.js';
import type { RuntimeActivity, RuntimeClient, RuntimeTarget } from './runtime-client.js';
import type { RuntimeMetrics } from './runtime-metrics.js';
import type { RuntimeObserver } from './runtime-observer.js';
import type { RuntimePool } from './runtime-pool.js';
import { msUntilIdle, NEW_REVISION } from '../records/runtime-state.js';
import type { RuntimeUpdates } from './runtime-updates.js';
import type { RuntimeRow } from '../records/runtimes.store.js';
import type * as runtimeRecords from '../records/runtimes.store.js';
import type { Database } from '../platform/database/database.js';

/** Polling interval in ms for states that the platform does not report. */
export const CHECK_MS = 10_000;

/** Work that the runtime does outside turns. It is lost if the runtime is not running. */
const FOLLOW_UP_JOBS = [SUMMARY_JOB, TITLE_JOB];

export interface RuntimeSuspension {
  /** Suspends a runtime that was idle for long enough. @returns ms until the next check; 0: suspended */
  suspendIfIdle(job: LeasedJob, row: RuntimeRow, signal: AbortSignal): Promise<number>;
  /**
   * Suspends a runtime whose place another one needs, if nothing uses it.
   *
   * @returns ms until the next check; 0: suspended
   */
  suspendIfEvicted(job: LeasedJob, row: RuntimeRow, signal: AbortSignal): Promise<number>;
  /**
   * Suspends a runtime that waits for a place although no turn needs it, as after a restart of local mode. A runtime
   * that never ran stays in the queue: its user waits for the workspace.
   *
   * @returns true if it was suspended
   */
  suspendIfUnneeded(job: LeasedJob, row: RuntimeRow): Promise<boolean>;
  /**
   * Requests a pending revision's rollout while the runtime is inactive, and suspends the runtime once the platform
   * grants the rollout.
   *
   * @returns ms until the next check; 0: suspended
   */
  suspendForRollout(
    job: LeasedJob,
    row: RuntimeRow,
    observed: RuntimeObservation | undefined,
    signal: AbortSignal,
  ): Promise<number>;
}

export interface RuntimeSuspensionDeps {
  database: Database;
  store: Pick<typeof runtimeRecords, 'lockRuntime' | 'findLastTurnEnd'>;
  jobs: Pick<JobQueue, 'waits'>;
  client: Pick<RuntimeClient, 'status' | 'stopTurn'>;
  observer: Pick<RuntimeObserver, 'ensure'>;
  updates: RuntimeUpdates;
  pool: Pick<RuntimePool, 'isQueued' | 'mustYield' | 'keep'>;
  /** Milliseconds; 0 disables suspension. */
  idleSuspendAfterMs: number;
  metrics: Pick<RuntimeMetrics, 'suspended' | 'suspendedForRollout'>;
  clock: Clock;
}

export function createRuntimeSuspension(deps: RuntimeSuspensionDeps): RuntimeSuspension {
  const { database, store, jobs, client, observer, updates, pool, metrics, clock } = deps;

  /**
   * Undefined if the runtime does not respond. Turns that have ended in the database do not count, and are stopped: the
   * process that ended them could not tell the runtime.
   */
  async function activityOf(target: RuntimeTarget, signal: AbortSignal): Promise<RuntimeActivity | undefined> {
    const { workspaceId } = target;
    const activity = await client.status(target, signal).catch(() => undefined);
    if (activity === undefined || activity.turns.length === 0) return activity;
    // A turn has its job before it reaches the runtime, and until it ends.
    if (await jobs.waits(TURN_JOB, workspaceId)) return activity;
    await Promise.all(activity.turns.map((turn) => client.stopTurn(target, turn, signal).catch(() => undefined)));
    const endedAt = await store.findLastTurnEnd(database, workspaceId);
    return { busy: false, turns: [], idleMs: endedAt === undefined ? 0 : clock.now().getTime() - endedAt.getTime() };
  }

  /** Milliseconds until the runtime reaches the idle limit; 0 if it has. Status calls do not count as activity. */
  async function msUntilIdleLimit(row: RuntimeRow, signal: AbortSignal): Promise<number> {
    const limitMs = deps.idleSuspendAfterMs;
    const untilMs = msUntilIdle(row, limitMs, clock.now());
    if (untilMs > 0) return untilMs;
    if (row.phase !== 'Ready' || row.address === null) return Infinity;
    const activity = await activityOf({ workspaceId: row.workspace_id, address: row.address }, signal);
    if (activity === undefined) return CHECK_MS;
    return activity.busy ? limitMs : Math.max(0, limitMs - activity.idleMs);
  }

  async function isInactive(row: RuntimeRow, signal: AbortSignal): Promise<boolean> {
    const { workspace_id: workspaceId, address } = row;
    if (address === null || (await jobs.waits(TURN_JOB, workspaceId))) return false;
    return (await activityOf({ workspaceId, address }, signal))?.busy === false;
  }

  function suspend(job: LeasedJob, row: RuntimeRow, reason: string): Promise<boolean> {
    const workspaceId = row.workspace_id;
    const update = { desired: 'suspended', phase: 'Suspended', reason, failures: 0 } as const;
    // Storing a message locks the runtime too. Either its turn is visible here, or it resumes the runtime afterwards.
    return updates.persist(
      job,
      row,
      update,
      async (tx) =>
        (await store.lockRuntime(tx, workspaceId)) === 'running' && !(await jobs.waits(TURN_JOB, workspaceId, tx)),
    );
  }

  /** A runtime that does not run, or has stopped responding, is not working. */
  async function isWorking(row: RuntimeRow, signal: AbortSignal): Promise<boolean> {
    const { workspace_id: workspaceId, address, phase, silent_since: silentSince } = row;
    for (const kind of FOLLOW_UP_JOBS) if (await jobs.waits(kind, workspaceId)) return true;
    if (phase !== 'Ready' || address === null || silentSince !== null) return false;
    return (await activityOf({ workspaceId, address }, signal))?.busy !== false;
  }

  return {
    async suspendIfEvicted(job, row, signal) {
      const { workspace_id: workspaceId } = row;
      if (row.desired !== 'running' || !pool.mustYield(workspaceId)) return Infinity;
      if (!(await isWorking(row, signal)) && (await suspend(job, row, ''))) {
        metrics.suspended();
        return 0;
      }
      pool.keep(workspaceId);
      return CHECK_MS;
    },

    async suspendIfUnneeded(job, row) {
      const isUnneeded = row.desired === 'running' && row.verified && pool.isQueued(row.workspace_id);
      return isUnneeded && suspend(job, row, '');
    },

    async suspendIfIdle(job, row, signal) {
      const untilMs = await msUntilIdleLimit(row, signal);
      if (untilMs > 0) return untilMs;
      if (!(await suspend(job, row, ''))) return CHECK_MS;
      metrics.suspended();
      return 0;
    },

    async suspendForRollout(job, row, observed, signal) {
      if (observed?.rollout === undefined || row.desired !== 'running' || row.phase !== 'Ready') return Infinity;
      const requested = await isInactive(row, signal);
      if (requested && observed.rollout.granted) {
        if (!(await suspend(job, row, NEW_REVISION))) return CHECK_MS;
        metrics.suspendedForRollout();
        return 0;
      }
      if (requested !== observed.rollout.requested) await observer.ensure(row, signal, { rollout: { requested } });
      // The platform reports a grant. It does not report that the runtime becomes inactive.
      return requested ? Infinity : CHECK_MS;
    },
  };
}
