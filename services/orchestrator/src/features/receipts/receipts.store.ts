import { randomUUIDv7 } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from '../../database/database.js';
import type { Effect, ToolCall } from '../tools/platform-tool.js';

export type ReceiptStatus = 'sent' | 'succeeded' | 'failed' | 'unknown';

/** A call that is about to be sent to another system. */
export interface NewReceipt {
  call: Omit<ToolCall, 'signal'>;
  tool: string;
  effect: Exclude<Effect, 'read' | 'own'>;
  arguments: unknown;
  /** SHA-256 of tool and arguments. */
  argumentsHash: Buffer;
  /** What identifies the request in the other system. */
  key: string;
}

export interface SentReceipt {
  status: ReceiptStatus;
  key: string;
  argumentsHash: Buffer;
  /** What the model was told; null while the status is `sent`. */
  outcome: string | null;
}

/** What the model is told about a call whose outcome is unknown. */
export const UNKNOWN_OUTCOME =
  'It is not known whether this call was executed: the request was sent, but there was no answer. Do not repeat it. Tell the ' +
  'user to check, and ask whether to try again.';

export interface ReceiptStore {
  find(turnId: string, callId: string, db: Database): Promise<SentReceipt | undefined>;
  /** Stores a call with the approval of the user, if it needed one. @throws DatabaseError if the call is stored already */
  insert(receipt: NewReceipt, db: Database): Promise<void>;
  finish(
    turnId: string,
    callId: string,
    end: { status: Exclude<ReceiptStatus, 'sent'>; outcome: string },
    db: Database,
  ): Promise<void>;
  /** Ends the calls of a turn that were sent and have no outcome. */
  finishTurn(turnId: string, db: Database): Promise<void>;
}

export const createReceiptStore = (): ReceiptStore => ({
  find: (turnId, callId, db) =>
    db
      .selectFrom('receipts')
      .select(['status', 'key', 'arguments_hash as argumentsHash', 'outcome'])
      .where('turn_id', '=', turnId)
      .where('call_id', '=', callId)
      .executeTakeFirst(),

  async insert({ call, tool, effect, arguments: input, argumentsHash, key }, db) {
    const approval = sql<string>`(
      SELECT jsonb_build_object('approved_at', a.decided_at, 'title', m.content ->> 'title', 'description', m.content ->> 'description')
      FROM tool_approvals a JOIN messages m ON m.id = a.card_message_id
      WHERE a.turn_id = ${call.turnId} AND a.call_id = ${call.id} AND a.status = 'approved')`;
    await db
      .insertInto('receipts')
      .values({
        id: randomUUIDv7(),
        user_id: call.userId,
        workspace_id: call.workspaceId,
        conversation_id: call.conversationId,
        agent_id: call.agentId,
        turn_id: call.turnId,
        call_id: call.id,
        tool,
        effect,
        arguments: JSON.stringify(input),
        arguments_hash: argumentsHash,
        key,
        approval,
      })
      .execute();
  },

  async finish(turnId, callId, { status, outcome }, db) {
    await db
      .updateTable('receipts')
      .set({ status, outcome, finished_at: sql<Date>`now()` })
      .where('turn_id', '=', turnId)
      .where('call_id', '=', callId)
      .execute();
  },

  async finishTurn(turnId, db) {
    await db
      .updateTable('receipts')
      .set({ status: 'unknown', outcome: UNKNOWN_OUTCOME, finished_at: sql<Date>`now()` })
      .where('turn_id', '=', turnId)
      .where('status', '=', 'sent')
      .execute();
  },
});
