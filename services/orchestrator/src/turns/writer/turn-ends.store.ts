import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import type { TurnStatus } from '../../platform/database/schema.js';
import { lockAgentOf } from '../../records/agent-status.store.js';

export interface TurnEnd {
  status: TurnStatus;
  errorCode: string | null;
  /** Locks the turn's agent, so that its status can be derived. No other rows may be locked afterwards. */
  locksAgent?: boolean;
}

export interface Unfinished {
  /** True if tool lines are running, or calls to other systems have no outcome. */
  tools: boolean;
  /** True if approvals exist that no decision has closed. */
  approvals: boolean;
  /** True if other agents may work on the turn's tasks. */
  tasks: boolean;
  /** The reply, unless a message has taken its place. */
  replyId: string | null;
}

export const nothingUnfinished = (replyId: string | null): Unfinished => ({
  tools: false,
  approvals: false,
  tasks: false,
  replyId,
});

export async function finishTurn(
  id: string,
  { status, errorCode, locksAgent = false }: TurnEnd,
  db: Database,
): Promise<void> {
  const turn = sql`
    UPDATE turns SET status = ${status}, error_code = ${errorCode}, finished_at = now() WHERE id = ${id} RETURNING agent_id`;
  // The journal stays, unless it continues a turn whose message was deleted in the meantime.
  await sql`
        WITH entries AS (
          DELETE FROM turn_entries e USING turns t
          WHERE e.turn_id = ${id} AND t.id = ${id} AND t.shown_entries > 0 AND t.resumes_message_id IS NULL
        ), contexts AS (DELETE FROM turn_contexts WHERE turn_id = ${id}),
          progress AS (DELETE FROM turn_progress WHERE turn_id = ${id}),
          calls AS (DELETE FROM tool_calls WHERE turn_id = ${id})
        ${locksAgent ? sql`, turn AS (${turn}) ${lockAgentOf(sql`turn`)}` : turn}`.execute(db);
}

export async function unfinishedOf(id: string, db: Database): Promise<Unfinished> {
  const { rows: found } = await sql<Unfinished>`
        SELECT EXISTS (SELECT FROM receipts WHERE turn_id = ${id} AND status = 'sent') OR EXISTS (
          SELECT FROM messages WHERE turn_id = ${id} AND turn_key IS NOT NULL AND content ->> 'state' = 'running'
        ) AS tools,
        EXISTS (SELECT FROM tool_approvals WHERE turn_id = ${id}) AS approvals,
        EXISTS (SELECT FROM delegations WHERE parent_turn_id = ${id}) AS tasks,
        (SELECT reply_message_id FROM turns WHERE id = ${id}) AS "replyId"`.execute(db);
  return found[0] ?? { tools: true, approvals: true, tasks: true, replyId: null };
}

export async function setReply(id: string, replyId: string, db: Database): Promise<void> {
  await sql`UPDATE turns SET reply_message_id = ${replyId} WHERE id = ${id}`.execute(db);
}

export async function suspendTurn(id: string, db: Database): Promise<void> {
  await sql`
        WITH progress AS (DELETE FROM turn_progress WHERE turn_id = ${id})
        UPDATE turns SET status = 'done', finished_at = now() WHERE id = ${id}`.execute(db);
}

export async function resumeTurn(id: string, suspendedId: string, db: Database): Promise<void> {
  const { rows: resumed } = await sql<{ contexts: number }>`
    WITH entries AS (UPDATE turn_entries SET turn_id = ${id}, generation = 0 WHERE turn_id = ${suspendedId} RETURNING number),
      contexts AS (UPDATE turn_contexts SET turn_id = ${id} WHERE turn_id = ${suspendedId} RETURNING turn_id),
      calls AS (UPDATE tool_calls SET turn_id = ${id} WHERE turn_id = ${suspendedId}),
      receipts AS (UPDATE receipts SET turn_id = ${id} WHERE turn_id = ${suspendedId}),
      approvals AS (
        UPDATE tool_approvals SET turn_id = ${id} WHERE turn_id = ${suspendedId} RETURNING card_message_id, status
      ), cards AS (
        UPDATE messages SET turn_id = ${id}
        WHERE id IN (SELECT card_message_id FROM approvals WHERE status = 'open')
      ), tasks AS (
        -- The suspended turn stays a background turn: it wrote messages.
        INSERT INTO turn_tasks (turn_id, depth, prompt)
        SELECT ${id}, depth, prompt FROM turn_tasks WHERE turn_id = ${suspendedId} RETURNING turn_id
      ),
      delegations AS (
        UPDATE delegations SET
          turn_id = CASE WHEN turn_id = ${suspendedId} THEN ${id}::uuid ELSE turn_id END,
          parent_turn_id = CASE WHEN parent_turn_id = ${suspendedId} THEN ${id}::uuid ELSE parent_turn_id END
        WHERE turn_id = ${suspendedId} OR parent_turn_id = ${suspendedId}
      )
    UPDATE turns t SET shown_entries = (SELECT count(*) FROM entries), tokens_budget = suspended.tokens_budget,
      reply_message_id = CASE WHEN EXISTS (SELECT FROM tasks) THEN suspended.reply_message_id END,
      first_turn_id = coalesce(suspended.first_turn_id, suspended.id),
      resumes_message_id = coalesce(suspended.resumes_message_id, suspended.user_message_id),
      repeats_from_message_id = suspended.repeats_from_message_id
    FROM turns suspended WHERE t.id = ${id} AND suspended.id = ${suspendedId}
    RETURNING (SELECT count(*) FROM contexts) AS contexts`.execute(db);
  // The turn would start from the beginning and repeat the calls.
  if ((resumed[0]?.contexts ?? 0) === 0) throw new Error('the suspended turn has no context');
}
