import { randomUUIDv7 } from 'node:crypto';
import { ApiError } from '@uswarm/contract';
import type { Clock, Logger } from '@uswarm/service-kit';
import type { Database, Transaction, WithTransaction } from '../../platform/database/database.js';
import type { JobDefinition } from '../../platform/jobs/job-definition.js';
import type { JobQueue, LeasedJob } from '../../platform/jobs/job-queue.js';
import type { EventLog } from '../../records/event-log.js';
import type { PushJobs } from '../../records/push-jobs.js';
import { SCHEDULE_JOB } from '../../records/schedule-job.js';
import {
  findSchedule,
  insertRun,
  lockSchedule,
  type ScheduleRow,
  setScheduleState,
} from '../../records/schedule-rows.js';
import { countOutcome } from '../../turns/schedules/run-end.js';
import { type ScheduleEffect, step } from '../../turns/schedules/schedule-state.js';
import { stateOf, stored } from '../../turns/schedules/stored-state.js';
import type { UserMessages } from '../user-messages.js';
import type { ScheduleChanges } from './schedule-changes.js';
import { reasonOf, type RunStart } from './run-start.js';
import { nextOf } from './schedule-times.js';

export interface ScheduleRunsDeps {
  withTransaction: WithTransaction;
  database: Database;
  jobs: Pick<JobQueue, 'end' | 'lock'>;
  events: Pick<EventLog, 'lock' | 'addMessage'>;
  push: Pick<PushJobs, 'announce'>;
  messages: Pick<UserMessages, 'prepare'>;
  runs: RunStart;
  changes: Pick<ScheduleChanges, 'plan'>;
  clock: Clock;
  logger: Logger;
}

export interface ScheduleRuns {
  /**
   * Starts a run outside the recurrence.
   *
   * @returns its id
   * @throws ApiError `schedule_not_found`, `schedule_running`, and as sending a message
   */
  runNow(workspaceId: string, id: string): Promise<string>;
  handle: JobDefinition['handle'];
}

const DONE = { done: true } as const;
const COMPLETED = { done: true, isCompleted: true } as const;

export function createScheduleRuns(deps: ScheduleRunsDeps): ScheduleRuns {
  const { withTransaction, database, events, messages, runs, changes, clock, logger } = deps;

  async function perform(
    schedule: ScheduleRow,
    { do: effect, ...due }: Extract<ScheduleEffect, { dueAt: number }>,
    failure: string | undefined,
    tx: Transaction,
  ): Promise<void> {
    const run = { id: randomUUIDv7(), schedule_id: schedule.id, due_at: new Date(due.dueAt), is_manual: false };
    if (effect === 'skip') return void (await insertRun(tx, { ...run, status: 'skipped', error_code: null }));
    const status = failure === undefined ? 'running' : 'failed';
    // The second fence: the time has run already.
    if (!(await insertRun(tx, { ...run, status, error_code: failure ?? null }))) return;
    if (failure === undefined) return runs.begin(schedule, run.id, tx);
    const failed = await lockSchedule(tx, schedule.workspace_id, schedule.id);
    if (failed === undefined) return;
    await countOutcome(deps, failed, 'failed', { conversationId: failed.conversation_id }, tx);
  }

  /** @param failure why the run could not begin before */
  async function fire(job: LeasedJob, failure: string | undefined): Promise<void> {
    const { subjectId: id, workspaceId } = job;
    await withTransaction(async (tx) => {
      if (!(await deps.jobs.end(job, tx))) return;
      if (failure === undefined) await messages.prepare(workspaceId, tx);
      await events.lock(workspaceId, tx);
      const schedule = await lockSchedule(tx, workspaceId, id);
      if (schedule === undefined) return;
      const now = clock.now().getTime();
      const busy = await runs.isBusy(schedule, tx);
      const due = { type: 'due', now, next: nextOf(schedule, now), isBusy: busy } as const;
      const { state, effects } = step(stateOf(schedule), due);
      await setScheduleState(tx, id, stored(state));
      for (const effect of effects) if ('dueAt' in effect) await perform(schedule, effect, failure, tx);
      await changes.plan(schedule, state, tx);
    });
  }

  return {
    async runNow(workspaceId, id) {
      const runId = randomUUIDv7();
      await withTransaction(async (tx) => {
        await deps.jobs.lock(SCHEDULE_JOB, id, tx);
        await messages.prepare(workspaceId, tx);
        await events.lock(workspaceId, tx);
        const schedule = await lockSchedule(tx, workspaceId, id);
        if (schedule === undefined) throw new ApiError('schedule_not_found');
        if (await runs.isBusy(schedule, tx)) throw new ApiError('schedule_running');
        const run = { id: runId, schedule_id: id, due_at: clock.now(), is_manual: true, status: 'running' } as const;
        if (!(await insertRun(tx, { ...run, error_code: null }))) throw new ApiError('schedule_running');
        await runs.begin(schedule, runId, tx);
      });
      return runId;
    },

    async handle(job) {
      const schedule = await findSchedule(database, job.workspaceId, job.subjectId);
      if (schedule?.status !== 'active') return DONE;
      try {
        await fire(job, undefined);
      } catch (error) {
        const reason = reasonOf(error);
        if (reason === undefined) throw error;
        logger.info({ schedule: job.subjectId, code: reason }, 'a run of a schedule could not begin');
        await fire(job, reason);
      }
      return COMPLETED;
    },
  };
}
