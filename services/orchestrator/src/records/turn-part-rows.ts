import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../platform/database/database.js';

/**
 * Statements that write what a turn has until it ends or can no longer continue: journal, reply progress, context, task,
 * call outcomes, and delegated tasks. Most are fragments.
 */

export interface NewEntryColumns {
  turnId: string;
  generation: number;
  number: number;
  kind: string;
  /** JSON, or null. */
  call: string | null;
  /** The values for `body, object_id, hash, size`. */
  stored: RawBuilder<unknown>;
}

/** `source` continues the SELECT: FROM and WHERE. */
export const insertEntry = (
  { turnId, generation, number, kind, call, stored }: NewEntryColumns,
  source: RawBuilder<unknown>,
): RawBuilder<unknown> => sql`
  INSERT INTO turn_entries (turn_id, generation, number, kind, call, body, object_id, hash, size)
  SELECT ${turnId}, ${generation}, ${number}, ${kind}, ${call}::jsonb, ${stored} ${source}`;

/** @param condition on the entry `e` and its turn `t` */
export const deleteEntries = (condition: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  DELETE FROM turn_entries e USING turns t WHERE e.turn_id = t.id AND ${condition}`;

/** `entries` has the columns `turn_id` and `number`. */
export const deleteOldEntries = (entries: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  DELETE FROM turn_entries e USING ${entries} old WHERE e.turn_id = old.turn_id AND e.number = old.number`;

/** Gives a suspended turn's parts to the turn that continues it: CTEs, of which `entries` and `contexts` have a row per moved row. */
export const moveParts = (fromTurnId: string, toTurnId: string): RawBuilder<unknown> => sql`
  entries AS (UPDATE turn_entries SET turn_id = ${toTurnId}, generation = 0 WHERE turn_id = ${fromTurnId} RETURNING number),
  contexts AS (UPDATE turn_contexts SET turn_id = ${toTurnId} WHERE turn_id = ${fromTurnId} RETURNING turn_id),
  calls AS (UPDATE tool_calls SET turn_id = ${toTurnId} WHERE turn_id = ${fromTurnId}),
  delegations AS (
    UPDATE delegations SET
      turn_id = CASE WHEN turn_id = ${fromTurnId} THEN ${toTurnId}::uuid ELSE turn_id END,
      parent_turn_id = CASE WHEN parent_turn_id = ${fromTurnId} THEN ${toTurnId}::uuid ELSE parent_turn_id END
    WHERE turn_id = ${fromTurnId} OR parent_turn_id = ${fromTurnId}
  )`;

export const PROGRESS_COLUMNS = sql`
  generation, applied_event, resume_from, chunk_seq, announced_step, text, received`;
/** Columns that do not hold texts. */
const REPLACED = sql`generation = excluded.generation, applied_event = excluded.applied_event,
  resume_from = excluded.resume_from, chunk_seq = excluded.chunk_seq, announced_step = excluded.announced_step`;
const REPLACED_TEXTS = sql`, text = excluded.text, received = excluded.received`;

/**
 * @param rows a query with `turn_id` and `PROGRESS_COLUMNS`
 * @param hasTexts false keeps existing texts
 */
export const saveProgress = (rows: RawBuilder<unknown>, hasTexts: boolean): RawBuilder<unknown> => sql`
  INSERT INTO turn_progress (turn_id, ${PROGRESS_COLUMNS}) ${rows}
  ON CONFLICT (turn_id) DO UPDATE SET ${REPLACED}${hasTexts ? REPLACED_TEXTS : sql``}`;

export const deleteProgress = (turnId: string): RawBuilder<unknown> => sql`
  DELETE FROM turn_progress WHERE turn_id = ${turnId}`;

/** Has no effect if the turn has a context. @param turn a query with the columns `id` and `agent_id` */
export const insertContext = (context: object, turn: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  INSERT INTO turn_contexts (turn_id, agent_id, context)
  SELECT turn.id, turn.agent_id, ${JSON.stringify(context)}::jsonb FROM ${turn} AS turn
  ON CONFLICT (turn_id) DO NOTHING`;

/** Two CTEs. @param condition on `turn_id` */
export const deleteContextAndCalls = (condition: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  contexts AS (DELETE FROM turn_contexts WHERE ${condition}),
  calls AS (DELETE FROM tool_calls WHERE ${condition})`;

/** @param tasks a query with the columns `turn_id`, `depth` and `prompt` */
export const insertTasks = (tasks: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  INSERT INTO turn_tasks (turn_id, depth, prompt) ${tasks}`;

/** @param calls a query with the columns in this order */
export const insertCalls = (calls: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  INSERT INTO tool_calls (turn_id, call_id, tool, text, failed, shows_message) ${calls}`;

export interface NewDelegation {
  /** Works on the task. */
  turnId: string;
  parentTurnId: string;
  /** The parent turn's call that gets the result. */
  callId: string;
  messageId: string;
}

export async function insertDelegation(
  db: Database,
  { turnId, parentTurnId, callId, messageId }: NewDelegation,
): Promise<void> {
  await db
    .insertInto('delegations')
    .values({ turn_id: turnId, parent_turn_id: parentTurnId, call_id: callId, message_id: messageId })
    .execute();
}

export async function endDelegation(db: Database, turnId: string, status: 'completed' | 'failed'): Promise<void> {
  await db
    .updateTable('delegations')
    .set({ status, ended_at: sql<Date>`now()` })
    .where('turn_id', '=', turnId)
    .execute();
}
