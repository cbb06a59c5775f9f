import { sql } from 'kysely';
import type { Transaction } from '../platform/database/database.js';
import type { JobQueue } from '../platform/jobs/job-queue.js';

/** Announces a message to its user's devices. */
export const PUSH_JOB = 'push';
/** Removes a conversation's notifications from the devices that show them. */
export const PUSH_WITHDRAWAL_JOB = 'push-withdrawal';

/** Read or decided on by the user. */
export type Settled = { conversationId: string; userId: string } | { messageIds: readonly string[] };

export interface PushJobs {
  /**
   * Announces the message with this event later, unless a device has received it by then. Call it in the event's
   * transaction.
   */
  announce(message: { messageId: string; workspaceId: string; seq: number }, tx: Transaction): Promise<void>;
  /** Removes notifications that are shown. Call it after the change, with the workspace locked. */
  withdraw(settled: Settled, tx: Transaction): Promise<void>;
}

/** Without a push service no jobs are written. */
export const NO_PUSH: PushJobs = { announce: () => Promise.resolve(), withdraw: () => Promise.resolve() };

/** @param delayMs how long a connected device has to report the event */
export function createPushJobs(jobs: Pick<JobQueue, 'enqueue'>, delayMs: number): PushJobs {
  return {
    announce: ({ messageId, workspaceId, seq }, tx) =>
      jobs.enqueue({ kind: PUSH_JOB, subjectId: messageId, workspaceId, ordinal: seq, dueInMs: delayMs }, tx),

    async withdraw(settled, tx) {
      const shown =
        'messageIds' in settled
          ? sql`p.message_id = ANY(${[...settled.messageIds]}::uuid[])`
          : sql`p.user_id = ${settled.userId} AND m.conversation_id = ${settled.conversationId}`;
      const { rows } = await sql<{ subjectId: string; workspaceId: string }>`
        SELECT DISTINCT m.conversation_id AS "subjectId", m.workspace_id AS "workspaceId"
        FROM push_deliveries p JOIN messages m ON m.id = p.message_id WHERE ${shown}`.execute(tx);
      for (const row of rows) await jobs.enqueue({ kind: PUSH_WITHDRAWAL_JOB, ...row }, tx);
    },
  };
}
