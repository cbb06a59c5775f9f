import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import { APPROVAL_KEY } from '../records/approvals.store.js';
import { OPEN_CARD } from '../records/message-changes.store.js';

/** An agent's queued, running and suspended turns. */
export async function listOpenTurns(db: Database, agentId: string): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    SELECT id FROM turns WHERE agent_id = ${agentId} AND status IN ('queued', 'running')
    UNION SELECT turn_id FROM turn_contexts WHERE agent_id = ${agentId}`.execute(db);
  return rows.map(({ id }) => id);
}

/** An agent's questions that wait for a choice. Its approvals end with their turns. */
export async function listOpenQuestions(
  db: Database,
  { workspaceId, agentId }: { workspaceId: string; agentId: string },
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    SELECT card.id FROM messages card
    WHERE card.workspace_id = ${workspaceId} AND card.agent_id = ${agentId} AND ${OPEN_CARD} AND card.error_code IS NULL
      AND NOT starts_with(coalesce(card.turn_key, ''), ${sql.lit(APPROVAL_KEY)})
    ORDER BY card.seq`.execute(db);
  return rows.map(({ id }) => id);
}
