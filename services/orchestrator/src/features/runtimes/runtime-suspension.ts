import type { Clock } from '@uswarm/service-kit';
import type { JobStore, LeasedJob } from '../../jobs/job-store.js';
import { TURN_JOB } from '../turns/turn-queue.js';
import type { RuntimeObservation } from './drivers/driver.js';
import type { RuntimeClient } from './runtime-client.js';
import type { RuntimeMetrics } from './runtime-metrics.js';
import type { RuntimeObserver } from './runtime-observer.js';
import { msUntilIdle, NEW_REVISION } from './runtime-state.js';
import type { RuntimeUpdates } from './runtime-updates.js';
import type { RuntimeRow, RuntimeStore } from './runtimes.store.js';

/** Milliseconds until the next check of a state that the platform does not report. */
export const CHECK_MS = 10_000;

export interface RuntimeSuspension {
  /** Suspends a runtime that was idle for long enough. @returns milliseconds until the next check; 0: suspended */
  suspendIfIdle(job: LeasedJob, row: RuntimeRow, signal: AbortSignal): Promise<number>;
  /**
   * Requests the rollout of a pending revision while the runtime is inactive, and suspends the runtime once the
   * platform grants the rollout.
   *
   * @returns milliseconds until the next check; 0: suspended
   */
  suspendForRollout(
    job: LeasedJob,
    row: RuntimeRow,
    observed: RuntimeObservation | undefined,
    signal: AbortSignal,
  ): Promise<number>;
}

export interface RuntimeSuspensionDeps {
  store: Pick<RuntimeStore, 'lock'>;
  jobs: Pick<JobStore, 'waits'>;
  client: Pick<RuntimeClient, 'status'>;
  observer: Pick<RuntimeObserver, 'ensure'>;
  updates: RuntimeUpdates;
  /** Milliseconds; 0 disables suspension of idle runtimes. */
  idleSuspendAfterMs: number;
  metrics: Pick<RuntimeMetrics, 'suspended' | 'suspendedForRollout'>;
  clock: Clock;
}

export function createRuntimeSuspension(deps: RuntimeSuspensionDeps): RuntimeSuspension {
  const { store, jobs, client, observer, updates, metrics, clock } = deps;

  /** Milliseconds until the runtime reaches the idle limit; 0 if it has. Status calls do not count as activity. */
  async function msUntilIdleLimit(row: RuntimeRow, signal: AbortSignal): Promise<number> {
    const limitMs = deps.idleSuspendAfterMs;
    const untilMs = msUntilIdle(row, limitMs, clock.now());
    if (untilMs > 0) return untilMs;
    if (row.phase !== 'Ready' || row.address === null) return Infinity;
    const target = { workspaceId: row.workspace_id, address: row.address };
    const status = await client.status(target, signal).catch(() => undefined);
    if (status === undefined) return CHECK_MS;
    return status.busy ? limitMs : Math.max(0, limitMs - status.idleMs);
  }

  async function isInactive(row: RuntimeRow, signal: AbortSignal): Promise<boolean> {
    const { workspace_id: workspaceId, address } = row;
    if (address === null || (await jobs.waits(TURN_JOB, workspaceId))) return false;
    const status = await client.status({ workspaceId, address }, signal).catch(() => undefined);
    return status?.busy === false;
  }

  /** @returns false if a turn was queued first */
  function suspend(job: LeasedJob, row: RuntimeRow, reason: string): Promise<boolean> {
    const workspaceId = row.workspace_id;
    const update = { desired: 'suspended', phase: 'Suspended', reason, failures: 0 } as const;
    // Storing a message locks the runtime too. Either its turn is visible here, or it resumes the runtime afterwards.
    return updates.persist(
      job,
      row,
      update,
      async (tx) => (await store.lock(workspaceId, tx)) === 'running' && !(await jobs.waits(TURN_JOB, workspaceId, tx)),
    );
  }

  return {
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
      if (requested !== observed.rollout.requested) await observer.ensure(row, signal, { requested });
      // The platform reports a grant. It does not report that the runtime becomes inactive.
      return requested ? Infinity : CHECK_MS;
    },
  };
}
