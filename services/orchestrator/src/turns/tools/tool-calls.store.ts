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

export interface ToolCallStore {
  find(turnId: string, callId: string, db: Database): Promise<StoredOutcome | undefined>;
  /** @throws DatabaseError if the call is stored already */
  insert(turnId: string, call: { id: string; tool: string }, outcome: StoredOutcome, db: Database): Promise<void>;
}

export const createToolCallStore = (): ToolCallStore => ({
  find: (turnId, callId, db) =>
    db
      .selectFrom('tool_calls')
      .select(['text', 'failed', 'shows_message as showsMessage'])
      .where('turn_id', '=', turnId)
      .where('call_id', '=', callId)
      .executeTakeFirst(),

  async insert(turnId, { id, tool }, { text, failed, showsMessage }, db) {
    await insertCalls(sql`VALUES (${turnId}::uuid, ${id}, ${tool}, ${text}, ${failed}, ${showsMessage})`).execute(db);
  },
});
