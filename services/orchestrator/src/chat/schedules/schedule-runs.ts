import { randomUUIDv7 } from 'node:crypto';
import { ApiError } from '@uswarm/contract';
import type { Clock, Logger } from '@uswarm/service-kit';
import { sql } from 'kysely';
import type { Database, Transaction, WithTransaction } from '../../platform/database/database.js';
import type { JobDefinition } from '../../platform/jobs/job-definition.js';
import type { JobQueue, LeasedJob } from '../../platform/jobs/job-queue.js';
import { findManager, isAgentDeleted } from '../../records/agents.store.js';
import { hasOpenApprovals } from '../../records/approvals.store.js';
import { insertConversation } from '../../records/conversation-rows.js';
import type { EventLog } from '../../records/event-log.js';
import { setScheduleOf } from '../../records/message-rows.js';
import type { PushJobs } from '../../records/push-jobs.js';
import { SCHEDULE_JOB } from '../../records/schedule-job.js';
import {
  closeDeadRuns,
  findSchedule,
  findScheduleOwner,
  insertRun,
  lockSchedule,
  type ScheduleRow,
  setRunMessage,
  setScheduleConversation,
  setScheduleState,
} from '../../records/schedule-rows.js';
import { assignRun } from '../../records/turn-rows.js';
import { countOutcome } from '../../turns/schedules/run-end.js';
import { type ScheduleEffect, step } from '../../turns/schedules/schedule-state.js';
import { stateOf, stored } from '../../turns/schedules/stored-state.js';
import { countConversations } from '../conversations.store.js';
import type { UserMessages } from '../user-messages.js';
import type { ScheduleChanges } from './schedule-changes.js';
import { nextOf } from './schedule-times.js';

export interface ScheduleRunsDeps {
  withTransaction: WithTransaction;
  database: Database;
  jobs: Pick<JobQueue, 'end' | 'lock'>;
  events: Pick<EventLog, 'append' | 'lock' | 'addMessage'>;
  push: Pick<PushJobs, 'announce'>;
  messages: Pick<UserMessages, 'prepare' | 'store'>;
  changes: Pick<ScheduleChanges, 'plan'>;
  /** Maximum number of conversations per workspace. */
  conversationsPerWorkspace: number;
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

/** The reason is for the user. Errors of the server are retried instead. */
const reasonOf = (error: unknown): string | undefined =>
  error instanceof ApiError && error.status < 500 ? error.code : undefined;

export function createScheduleRuns(deps: ScheduleRunsDeps): ScheduleRuns {
  const { withTransaction, database, events, messages, changes, clock, logger } = deps;

  /** The workspace is locked. */
  async function conversationOf(schedule: ScheduleRow, tx: Transaction): Promise<string> {
    const { workspace_id: workspaceId, agent_id: agentId, title } = schedule;
    if (schedule.conversation_id !== null) return schedule.conversation_id;
    const id = randomUUIDv7();
    const rev = await events.append({ workspaceId, type: 'conversation.new', subjectId: id }, tx);
    if ((await countConversations(tx, workspaceId)) >= deps.conversationsPerWorkspace)
      throw new ApiError('conversation_limit_reached');
    const isManager = (await findManager(tx, workspaceId)) === agentId;
    const partner = isManager ? ({ type: 'swarm', agentId: null } as const) : ({ type: 'agent', agentId } as const);
    await insertConversation(tx, { id, workspaceId, ...partner, title, rev });
    await setScheduleConversation(tx, schedule.id, id);
    return id;
  }

  /** Sends the prompt as the user would. The run is stored. @throws ApiError */
  async function begin(schedule: ScheduleRow, runId: string, tx: Transaction): Promise<void> {
    const { id, workspace_id: workspaceId, agent_id: agentId, prompt: text, token_limit: budget } = schedule;
    const owner = await findScheduleOwner(tx, workspaceId);
    if (owner === undefined) throw new ApiError('workspace_not_found');
    if (owner.isBanned) throw new ApiError('user_banned');
    if (await isAgentDeleted(tx, agentId)) throw new ApiError('agent_deleted');
    const conversationId = await conversationOf(schedule, tx);
    const message = { workspaceId, conversationId, userId: owner.userId, agentIds: [agentId], text };
    const { id: messageId } = await messages.store(message, tx);
    await setScheduleOf(tx, messageId, id);
    await assignRun(tx, messageId, { runId, budget });
    await setRunMessage(tx, runId, messageId);
  }

  /** A message would withdraw an open card. */
  async function isBusy({ id, conversation_id: conversationId }: ScheduleRow, tx: Transaction): Promise<boolean> {
    if (await closeDeadRuns(tx, id)) return true;
    if (conversationId === null) return false;
    const { rows } = await sql<{ open: boolean }>`SELECT ${hasOpenApprovals(sql`${conversationId}`)} AS open`.execute(
      tx,
    );
    return rows[0]?.open === true;
  }

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
    if (failure === undefined) return begin(schedule, run.id, tx);
    const failed = await lockSchedule(tx, schedule.workspace_id, schedule.id);
    const place = schedule.conversation_id === null ? undefined : { conversationId: schedule.conversation_id };
    if (failed !== undefined) await countOutcome(deps, failed, 'failed', place, tx);
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
      const busy = await isBusy(schedule, tx);
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
        if (await isBusy(schedule, tx)) throw new ApiError('schedule_running');
        const run = { id: runId, schedule_id: id, due_at: clock.now(), is_manual: true, status: 'running' } as const;
        if (!(await insertRun(tx, { ...run, error_code: null }))) throw new ApiError('schedule_running');
        await begin(schedule, runId, tx);
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
