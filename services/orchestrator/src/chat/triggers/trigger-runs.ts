import type { Logger } from '@uswarm/service-kit';
import type { Database, WithTransaction } from '../../platform/database/database.js';
import type { JobDefinition } from '../../platform/jobs/job-definition.js';
import type { JobQueue, LeasedJob } from '../../platform/jobs/job-queue.js';
import type { EventLog } from '../../records/event-log.js';
import type { PushJobs } from '../../records/push-jobs.js';
import {
  findQueuedRun,
  findScheduleOwner,
  findTrigger,
  leaveQueue,
  lockTrigger,
  type RunBody,
} from '../../records/schedule-rows.js';
import { countOutcome } from '../../turns/schedules/run-end.js';
import type { Attachments } from '../../workspaces/uploads/attachments.js';
import { reasonOf, type RunStart } from '../schedules/run-start.js';
import type { UserMessages } from '../user-messages.js';

export interface TriggerRunsDeps {
  withTransaction: WithTransaction;
  database: Database;
  jobs: Pick<JobQueue, 'holds'>;
  events: Pick<EventLog, 'lock' | 'addMessage'>;
  push: Pick<PushJobs, 'announce'>;
  messages: Pick<UserMessages, 'prepare'>;
  runs: RunStart;
  /** Stores a user's file once. @throws ApiError */
  storeFile(userId: string, file: RunBody & { id: string }): Promise<void>;
  attachments: Pick<Attachments, 'resolve'>;
  logger: Logger;
}

interface QueuedRun {
  id: string;
  body: RunBody | undefined;
}

const DONE = { done: true } as const;
/** A run's end makes the job due. Runs that end with their conversation, or whose card closes, do not. */
const AGAIN = { againInMs: 10_000 } as const;

/** Begins queued runs one after another: a later message would withdraw an earlier run's card. */
export function createTriggerRuns(deps: TriggerRunsDeps): JobDefinition['handle'] {
  const { withTransaction, database, jobs, events, messages, runs, attachments, logger } = deps;

  /** The file is stored first, and has the run's id, so that a repetition finds it. */
  async function start(job: LeasedJob, run: QueuedRun, userId: string): Promise<void> {
    const { subjectId: triggerId, workspaceId } = job;
    if (run.body !== undefined) await deps.storeFile(userId, { ...run.body, id: run.id });
    await withTransaction(async (tx) => {
      if (!(await jobs.holds(job, tx))) return;
      await messages.prepare(workspaceId, tx);
      await events.lock(workspaceId, tx);
      const trigger = await lockTrigger(tx, workspaceId, triggerId);
      if (trigger?.status !== 'active' || (await runs.isBusy(trigger, tx))) return;
      if (!(await leaveQueue(tx, run.id, undefined))) return;
      const files = run.body === undefined ? [] : await attachments.resolve(userId, [run.id], tx);
      await runs.begin(trigger, run.id, tx, files);
    });
  }

  async function fail(job: LeasedJob, run: QueuedRun, reason: string): Promise<void> {
    const { subjectId: triggerId, workspaceId } = job;
    await withTransaction(async (tx) => {
      if (!(await jobs.holds(job, tx))) return;
      await events.lock(workspaceId, tx);
      const trigger = await lockTrigger(tx, workspaceId, triggerId);
      if (trigger === undefined || !(await leaveQueue(tx, run.id, reason))) return;
      await countOutcome(deps, trigger, 'failed', { conversationId: trigger.conversation_id }, tx);
    });
  }

  return async (job) => {
    const { subjectId: triggerId, workspaceId } = job;
    const trigger = await findTrigger(database, workspaceId, triggerId);
    if (trigger?.status !== 'active') return DONE;
    const run = await findQueuedRun(database, triggerId);
    if (run === undefined) return DONE;
    if (await runs.isBusy(trigger, database)) return AGAIN;
    const owner = await findScheduleOwner(database, workspaceId);
    if (owner === undefined) return DONE;
    try {
      await start(job, run, owner.userId);
      return AGAIN;
    } catch (error) {
      const reason = reasonOf(error);
      if (reason === undefined) throw error;
      logger.info({ trigger: triggerId, code: reason }, 'a run of a trigger could not begin');
      await fail(job, run, reason);
      return { againInMs: 0 };
    }
  };
}
