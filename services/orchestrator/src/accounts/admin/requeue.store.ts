import { sql } from 'kysely';
import type { Database, Transaction } from '../../platform/database/database.js';
import type { TurnStatus } from '../../platform/database/schema.js';
import { restartJob } from '../../platform/jobs/job-store.js';
import { TURN_JOB } from '../../records/turn-job.js';
import { reopenTurn } from '../../records/turn-rows.js';

export interface RequeueStore {
  /** Revokes the lease and makes the turn due. @returns false if the turn has no job */
  release(turnId: string, tx: Transaction): Promise<boolean>;
  find(turnId: string, db: Database): Promise<{ status: TurnStatus; workspaceId: string; userId: string } | undefined>;
  /**
   * Restarts a failed turn with a new agent message. The failed message is unchanged.
   *
   * @returns false if the turn did not fail
   */
  reopen(turnId: string, tx: Transaction): Promise<boolean>;
}

/** @param notifyTurns notifies the turn workers after the commit */
export function createRequeueStore(notifyTurns: () => void): RequeueStore {
  return {
    async release(turnId, tx) {
      tx.afterCommit(notifyTurns);
      return restartJob(TURN_JOB, turnId, tx);
    },

    async find(turnId, db) {
      return db
        .selectFrom('turns as t')
        .innerJoin('workspaces as w', 'w.id', 't.workspace_id')
        .select(['t.status', 't.workspace_id as workspaceId', 'w.owner_id as userId'])
        .where('t.id', '=', turnId)
        .executeTakeFirst();
    },

    async reopen(turnId, tx) {
      tx.afterCommit(notifyTurns);
      // Turns are queued only while their workspace is locked: message deletion relies on it.
      await sql`
        SELECT FROM workspaces WHERE id = (SELECT workspace_id FROM turns WHERE id = ${turnId}) FOR NO KEY UPDATE`.execute(
        tx,
      );
      return reopenTurn(turnId, tx);
    },
  };
}
