import { sql } from 'kysely';
import type { Database, Transaction } from '../../platform/database/database.js';
import type { TurnStatus } from '../../platform/database/schema.js';
import { restartJob } from '../../platform/jobs/job-queue.js';
import { TURN_JOB } from '../../records/turn-job.js';
import { reopenTurn } from '../../records/turn-rows.js';

/** Revokes the lease and makes the turn due. @returns false if the turn has no job */
export async function releaseTurn(tx: Transaction, turnId: string): Promise<boolean> {
  return restartJob(tx, TURN_JOB, turnId);
}

export async function findTurnToRequeue(
  db: Database,
  turnId: string,
): Promise<{ status: TurnStatus; workspaceId: string; userId: string } | undefined> {
  return db
    .selectFrom('turns as t')
    .innerJoin('workspaces as w', 'w.id', 't.workspace_id')
    .select(['t.status', 't.workspace_id as workspaceId', 'w.owner_id as userId'])
    .where('t.id', '=', turnId)
    .executeTakeFirst();
}

/**
 * Restarts a failed turn with a new agent message. The failed message is unchanged.
 *
 * @returns false if the turn did not fail
 */
export async function requeueFailedTurn(tx: Transaction, turnId: string): Promise<boolean> {
  // Turns are queued only while their workspace is locked: message deletion relies on it.
  await sql`
    SELECT FROM workspaces WHERE id = (SELECT workspace_id FROM turns WHERE id = ${turnId}) FOR NO KEY UPDATE`.execute(
    tx,
  );
  return reopenTurn(tx, turnId);
}
