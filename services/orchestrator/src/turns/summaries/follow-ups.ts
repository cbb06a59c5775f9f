import type { Transaction } from '../../platform/database/database.js';
import type { JobQueue } from '../../platform/jobs/job-queue.js';
import type { TurnRow } from '../turns.store.js';
import { needsTitle } from './summaries.store.js';

export const SUMMARY_JOB = 'summary';
export const TITLE_JOB = 'title';

/** Call it before other locks: jobs come first in the lock order. */
export type FollowUps = (turn: TurnRow, needed: { summary: boolean }, tx: Transaction) => Promise<void>;

export interface FollowUpDeps {
  jobs: Pick<JobQueue, 'enqueue'>;
}

export function createFollowUps({ jobs }: FollowUpDeps): FollowUps {
  return async (turn, { summary }, tx) => {
    const conversationId = turn.conversation_id;
    const job = { subjectId: conversationId, workspaceId: turn.workspace_id, fairKey: turn.user_id };
    if (summary) await jobs.enqueue({ kind: SUMMARY_JOB, ...job }, tx);
    if (await needsTitle(tx, { id: turn.id, conversationId })) await jobs.enqueue({ kind: TITLE_JOB, ...job }, tx);
  };
}
