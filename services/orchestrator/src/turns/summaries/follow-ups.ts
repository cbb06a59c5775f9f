import type { Transaction } from '../../platform/database/database.js';
import type { JobStore } from '../../platform/jobs/job-store.js';
import type { TurnRow } from '../turns.store.js';
import type { SummaryStore } from './summaries.store.js';

export const SUMMARY_JOB = 'summary';
export const TITLE_JOB = 'title';

/** Call it before other locks: jobs come first in the lock order. */
export type FollowUps = (turn: TurnRow, needed: { summary: boolean }, tx: Transaction) => Promise<void>;

export interface FollowUpDeps {
  jobs: Pick<JobStore, 'enqueue'>;
  store: Pick<SummaryStore, 'needsTitle'>;
}

export function createFollowUps({ jobs, store }: FollowUpDeps): FollowUps {
  return async (turn, { summary }, tx) => {
    const conversationId = turn.conversation_id;
    const job = { subjectId: conversationId, workspaceId: turn.workspace_id, fairKey: turn.user_id };
    if (summary) await jobs.enqueue({ kind: SUMMARY_JOB, ...job }, tx);
    if (await store.needsTitle({ id: turn.id, conversationId }, tx))
      await jobs.enqueue({ kind: TITLE_JOB, ...job }, tx);
  };
}
