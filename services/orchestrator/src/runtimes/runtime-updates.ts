import { ApiError } from '@uswarm/contract';
import type { Clock, Logger } from '@uswarm/service-kit';
import type { Transaction, WithTransaction, Database } from '../platform/database/database.js';
import type { JobQueue, LeasedJob } from '../platform/jobs/job-queue.js';
import { statusEvent } from '../records/agent-statuses.js';
import type { LiveEvent } from '../events/event-publisher.js';
import type { EventLog } from '../records/event-log.js';
import { TURN_JOB } from '../records/turn-job.js';
import { changesOf, isPolled } from '../records/runtime-state.js';
import { viewRuntime } from '../records/runtime-view.js';
import type { RuntimeRow, RuntimeUpdate } from '../records/runtimes.store.js';
import type * as runtimeRecords from '../records/runtimes.store.js';
import type * as agentRecords from '../records/agents.store.js';

export interface RuntimeUpdates {
  /**
   * Stores the observed state and publishes the part that clients see. Stores nothing if the lease is lost, the
   * workspace is deleted, or `allowed` returns false while the runtime is locked.
   *
   * @returns true if it was stored
   */
  persist(
    job: LeasedJob,
    row: RuntimeRow,
    update: RuntimeUpdate,
    allowed?: (tx: Transaction) => Promise<boolean>,
  ): Promise<boolean>;
}

export interface RuntimeUpdatesDeps {
  withTransaction: WithTransaction;
  jobs: Pick<JobQueue, 'holds' | 'makeDueNow'>;
  events: Pick<EventLog, 'append'>;
  database: Database;
  store: Pick<typeof runtimeRecords, 'updateRuntime'>;
  agents: Pick<typeof agentRecords, 'listAgentStatuses'>;
  publish: (event: LiveEvent) => Promise<boolean>;
  clock: Clock;
  logger: Logger;
}

export function createRuntimeUpdates(deps: RuntimeUpdatesDeps): RuntimeUpdates {
  const { database, store, jobs, events, agents, publish, clock, logger } = deps;

  async function publishAgentStatus(workspaceId: string, runtime: RuntimeRow, seq: number): Promise<void> {
    const state = { phase: runtime.phase, silentSince: runtime.silent_since };
    for (const status of await agents.listAgentStatuses(database, workspaceId)) {
      void publish(statusEvent({ ...status, workspaceId, seq, ...state }, clock.now()));
    }
  }

  return {
    async persist(job, row, update, allowed = async () => true) {
      const now = clock.now();
      const workspaceId = row.workspace_id;
      const next = { ...row, ...update };
      const isVisible = isVisibleChange(row, next, now);
      const stored = await unlessDeleted(() =>
        deps.withTransaction(async (tx) => {
          // Lock order everywhere: job, runtime, workspace.
          if (!(await jobs.holds(job, tx)) || !(await allowed(tx))) return undefined;
          const changes = changesToWrite(row, update, now);
          if (Object.keys(changes).length > 0) await store.updateRuntime(tx, workspaceId, changes);
          const event = { workspaceId, type: 'workspace.updated', subjectId: workspaceId } as const;
          return { seq: isVisible ? await events.append(event, tx) : null };
        }),
      );
      if (stored === undefined) return false;
      if (stored.seq === null) return true;
      logger.info({ workspace: workspaceId, phase: next.phase, reason: next.reason }, 'runtime changed');
      await publishAgentStatus(workspaceId, next, stored.seq);
      if (next.phase === 'Ready') await jobs.makeDueNow(TURN_JOB, workspaceId);
      return true;
    },
  };
}

/** Compares with the view at the last write: a runtime becomes offline over time without a write. */
function isVisibleChange(row: RuntimeRow, next: RuntimeRow, now: Date): boolean {
  const viewOf = ({ phase, verified, silent_since: silentSince }: RuntimeRow, at: Date): string =>
    JSON.stringify([viewRuntime({ phase, silentSince }, at), verified]);
  return viewOf(row, row.updated_at) !== viewOf(next, now) || row.phase !== next.phase;
}

/** A new `identified_at` alone is not worth a write. */
function changesToWrite(row: RuntimeRow, update: RuntimeUpdate, now: Date): RuntimeUpdate {
  const changes = changesOf(row, update);
  const isTimeOnly = Object.keys(changes).every((field) => field === 'identified_at');
  return isTimeOnly && !isPolled(row, now) ? {} : changes;
}

async function unlessDeleted<T>(run: () => Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof ApiError && error.code === 'workspace_not_found') return undefined;
    throw error;
  }
}
