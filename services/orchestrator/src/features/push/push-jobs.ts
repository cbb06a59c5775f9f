import type { Transaction } from '../../database/database.js';
import type { JobStore } from '../../jobs/job-store.js';

/** Job type that announces a message to the devices of its user. */
export const PUSH_JOB = 'push';

export interface PushJobs {
  /** Announces the message with this event later, unless a device has received it by then. Call it in the transaction of the event. */
  announce(message: { messageId: string; workspaceId: string; seq: number }, tx: Transaction): Promise<void>;
}

/** Without a push service no jobs are written. */
export const NO_PUSH: PushJobs = { announce: () => Promise.resolve() };

/** @param delayMs how long a connected device has to report the event */
export function createPushJobs(jobs: Pick<JobStore, 'enqueue'>, delayMs: number): PushJobs {
  return {
    announce: ({ messageId, workspaceId, seq }, tx) =>
      jobs.enqueue({ kind: PUSH_JOB, subjectId: messageId, workspaceId, ordinal: seq, dueInMs: delayMs }, tx),
  };
}
