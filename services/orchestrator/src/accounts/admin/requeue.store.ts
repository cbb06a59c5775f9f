import { sql } from 'kysely';
import type { Database, Transaction } from '../../platform/database/database.js';
import type { TurnStatus } from '../../platform/database/schema.js';

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
      const result = await tx
        .updateTable('work')
        .set({ lease_id: null, lease_expires_at: null, run_at: sql`now()`, attempts: 0, failures: 0 })
        .where('kind', '=', 'turn')
        .where('subject_id', '=', turnId)
        .executeTakeFirst();
      return result.numUpdatedRows === 1n;
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
      const { rows } = await sql`
        WITH reopened AS (
          UPDATE turns SET status = 'queued', reply_message_id = NULL, runtime_instance = NULL, error_code = NULL,
            started_at = NULL, finished_at = NULL, waits_until = NULL, shown_entries = 0, generation = generation + 1
          WHERE id = ${turnId} AND status = 'failed'
          RETURNING id, workspace_id, conversation_id, user_message_id
        ), entries AS (
          -- The outcomes of its calls are deleted: a call without a result in the journal would be executed a second time.
          DELETE FROM turn_entries WHERE turn_id IN (SELECT id FROM reopened)
        )
        INSERT INTO work (kind, subject_id, workspace_id, serial_key, ordinal, fair_key)
        SELECT 'turn', r.id, r.workspace_id, r.conversation_id, m.seq, w.owner_id
        FROM reopened r JOIN messages m ON m.id = r.user_message_id
        JOIN workspaces w ON w.id = r.workspace_id
        RETURNING subject_id`.execute(tx);
      return rows.length === 1;
    },
  };
}
