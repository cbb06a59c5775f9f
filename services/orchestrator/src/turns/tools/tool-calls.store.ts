import type { Database } from '../../platform/database/database.js';
import { sql } from 'kysely';
import { insertCalls } from '../../records/turn-part-rows.js';

/** As told to the model. */
export interface StoredOutcome {
  text: string;
  failed: boolean;
  /** True if the call showed a message in addition to the reply. */
  showsMessage: boolean;
}

export function findToolCall(db: Database, turnId: string, callId: string): Promise<StoredOutcome | undefined> {
  return db
    .selectFrom('tool_calls')
    .select(['text', 'failed', 'shows_message as showsMessage'])
    .where('turn_id', '=', turnId)
    .where('call_id', '=', callId)
    .executeTakeFirst();
}

/** @throws DatabaseError if the call is stored already */
export async function insertToolCall(
  db: Database,
  turnId: string,
  { id, tool }: { id: string; tool: string },
  { text, failed, showsMessage }: StoredOutcome,
): Promise<void> {
  await insertCalls(sql`VALUES (${turnId}::uuid, ${id}, ${tool}, ${text}, ${failed}, ${showsMessage})`).execute(db);
}
