import { type RawBuilder, type Selectable, sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import type {
  DelegationsTable,
  ReceiptsTable,
  ToolApprovalsTable,
  TurnsTable,
  UsageEntriesTable,
} from '../../platform/database/tables.js';
import { type StoredEntry, storedEntry } from '../journal/journal.store.js';

type Row<Table, Column extends keyof Selectable<Table>> = Pick<Selectable<Table>, Column>;

/** As in Postgres JSON. */
type Time = string;

export interface StepAgentRow {
  id: string;
  name: string;
  slug: string;
}

export type ChainedTurn = Row<TurnsTable, 'id' | 'status' | 'error_code' | 'shown_entries'> & {
  agent: StepAgentRow;
  created_at: Time;
  started_at: Time | null;
  finished_at: Time | null;
  /** True if another turn continues it after user decisions, or when other agents have finished. */
  waits: boolean;
};

/** Oldest first. In the API, all turns have the first one's id. */
export interface TurnChain {
  turnId: string;
  turns: ChainedTurn[];
}

export type ModelCallRow = Row<
  UsageEntriesTable,
  | 'step'
  | 'provider'
  | 'model'
  | 'prompt_tokens'
  | 'cached_tokens'
  | 'completion_tokens'
  | 'reasoning_tokens'
  | 'estimated'
  | 'reserved'
  | 'cost_micros'
> & {
  /** Recordings are not turn steps. */
  kind: Exclude<Selectable<UsageEntriesTable>['kind'], 'transcription'>;
  created_at: Time;
  finished_at: Time | null;
};

export type ReceiptRow = Row<ReceiptsTable, 'id' | 'call_id' | 'tool' | 'effect' | 'status' | 'outcome'> & {
  sent_at: Time;
  finished_at: Time | null;
};

export type ApprovalRow = Row<ToolApprovalsTable, 'call_id' | 'status' | 'granted_tokens'> & {
  message_id: string;
  created_at: Time;
  expires_at: Time;
  decided_at: Time | null;
};

/** Outcome of a call that the orchestrator executed; stored while the turn runs or waits. */
export interface OutcomeRow {
  call_id: string;
  text: string;
  failed: boolean;
  created_at: Time;
}

export interface TaskRow {
  /** Null for a workflow step. */
  call_id: string | null;
  workflow_id: string | null;
  turn_id: string;
  message_id: string;
  agent: StepAgentRow;
  task: string;
  status: Selectable<DelegationsTable>['status'];
  started_at: Time;
  finished_at: Time | null;
}

export interface OwnerRow {
  /** Null if it was deleted. */
  turn_id: string | null;
  /** Null for a workflow step. */
  call_id: string | null;
  task: string;
  /** As told to the owner; null if it is in the calling turn's journal, or not known yet. */
  result: string | null;
}

export interface StepRecords {
  model_calls: ModelCallRow[];
  receipts: ReceiptRow[];
  approvals: ApprovalRow[];
  outcomes: OutcomeRow[];
  tasks: TaskRow[];
  /** The last reply, if it is a text. */
  reply: { message_id: string; text: string; failed: boolean } | null;
  /** Null for a turn that answers the user. */
  owner: OwnerRow | null;
}

export type TimedEntry = StoredEntry & { at: Date };

const agent = (alias: string) => sql`jsonb_build_object(
  'id', ${sql.ref(`${alias}.id`)}, 'name', ${sql.ref(`${alias}.name`)}, 'slug', ${sql.ref(`${alias}.slug`)})`;

const TURN = sql`jsonb_build_object(
  'id', t.id, 'status', t.status, 'error_code', t.error_code, 'shown_entries', t.shown_entries, 'agent', ${agent('a')},
  'created_at', t.created_at, 'started_at', t.started_at, 'finished_at', t.finished_at,
  'waits', t.status = 'done' AND EXISTS (SELECT FROM turn_contexts c WHERE c.turn_id = t.id))`;

const list = (row: RawBuilder<unknown>, from: RawBuilder<unknown>, order: string) =>
  sql`(SELECT coalesce(jsonb_agg(${row} ORDER BY ${sql.raw(order)}), '[]') FROM ${from})`;

/** Finds the chain that contains the turn. `owned`: the user owns the conversation. */
export async function findTurnChain(
  db: Database,
  userId: string,
  conversationId: string,
  turnId: string,
): Promise<TurnChain & { owned: boolean }> {
  const { rows } = await sql<TurnChain & { owned: boolean }>`
    WITH conversation AS (
      SELECT c.id FROM conversations c JOIN workspaces w ON w.id = c.workspace_id
      WHERE c.id = ${conversationId} AND w.owner_id = ${userId}
    ), first AS (
      SELECT coalesce((SELECT first_turn_id FROM turns WHERE id = ${turnId}), ${turnId}::uuid) AS id
    )
    SELECT (SELECT id FROM first) AS "turnId", EXISTS (SELECT FROM conversation) AS owned, ${list(
      TURN,
      sql`turns t JOIN agents a ON a.id = t.agent_id
        WHERE t.conversation_id = (SELECT id FROM conversation)
          AND (t.id = (SELECT id FROM first) OR t.first_turn_id = (SELECT id FROM first))`,
      't.created_at, t.id',
    )} AS turns`.execute(db);
  return rows[0] ?? { turnId, owned: false, turns: [] };
}

/** Chains in a conversation, ordered by id, after `after`. */
export async function listTurnChains(
  db: Database,
  conversationId: string,
  after: string | undefined,
  limit: number,
): Promise<TurnChain[]> {
  const { rows } = await sql<TurnChain>`
    SELECT coalesce(t.first_turn_id, t.id) AS "turnId", jsonb_agg(${TURN} ORDER BY t.created_at, t.id) AS turns
    FROM turns t JOIN agents a ON a.id = t.agent_id
    WHERE t.conversation_id = ${conversationId}
      AND coalesce(t.first_turn_id, t.id) > coalesce(${after ?? null}::uuid, '00000000-0000-0000-0000-000000000000')
    GROUP BY 1 ORDER BY 1 LIMIT ${limit}`.execute(db);
  return rows;
}

export async function findStepRecords(db: Database, { turnId, turns }: TurnChain): Promise<StepRecords> {
  const ids = sql`ANY (${turns.map(({ id }) => id)}::uuid[])`;
  const last = turns.at(-1)?.id ?? null;
  const { rows } = await sql<StepRecords>`
    SELECT ${list(
      sql`jsonb_build_object('step', e.step, 'kind', e.kind, 'provider', e.provider, 'model', e.model,
        'prompt_tokens', e.prompt_tokens, 'cached_tokens', e.cached_tokens, 'completion_tokens', e.completion_tokens,
        'reasoning_tokens', e.reasoning_tokens, 'estimated', e.estimated, 'reserved', e.reserved,
        'cost_micros', e.cost_micros, 'created_at', e.created_at, 'finished_at', e.finished_at)`,
      sql`usage_entries e WHERE e.turn_id = ${turnId} AND e.kind <> 'transcription'`,
      'e.step',
    )} AS model_calls,
    ${list(
      sql`jsonb_build_object('id', r.id, 'call_id', r.call_id, 'tool', r.tool, 'effect', r.effect, 'status', r.status,
        'outcome', r.outcome, 'sent_at', r.sent_at, 'finished_at', r.finished_at)`,
      sql`receipts r WHERE r.turn_id = ${ids}`,
      'r.sent_at, r.id',
    )} AS receipts,
    ${list(
      sql`jsonb_build_object('call_id', p.call_id, 'status', p.status, 'granted_tokens', p.granted_tokens,
        'message_id', p.card_message_id, 'created_at', p.created_at, 'expires_at', p.expires_at, 'decided_at', p.decided_at)`,
      sql`tool_approvals p WHERE p.turn_id = ${ids}`,
      'p.created_at, p.card_message_id',
    )} AS approvals,
    ${list(
      sql`jsonb_build_object('call_id', c.call_id, 'text', c.text, 'failed', c.failed, 'created_at', c.created_at)`,
      sql`tool_calls c WHERE c.turn_id = ${ids}`,
      'c.created_at, c.call_id',
    )} AS outcomes,
    ${list(
      sql`to_jsonb(given)`,
      sql`(
        SELECT d.call_id, NULL::uuid AS workflow_id, coalesce(t.first_turn_id, t.id) AS turn_id, d.message_id,
          ${agent('a')} AS agent, m.content ->> 'task_preview' AS task, d.status, d.created_at AS started_at,
          d.ended_at AS finished_at
        FROM delegations d JOIN turns t ON t.id = d.turn_id JOIN agents a ON a.id = t.agent_id
        JOIN messages m ON m.id = d.message_id WHERE d.parent_turn_id = ${ids}
        UNION ALL
        SELECT NULL, w.id, s.turn_id, w.message_id, ${agent('a')}, s.name, s.status, s.started_at, s.finished_at
        FROM workflows w JOIN workflow_steps s ON s.workflow_id = w.id JOIN agents a ON a.id = s.agent_id
        WHERE w.turn_id = ${ids} AND s.turn_id IS NOT NULL AND s.started_at IS NOT NULL AND s.status <> 'pending'
      ) given`,
      'given.started_at, given.turn_id',
    )} AS tasks,
    (
      SELECT jsonb_build_object('message_id', m.id, 'text', m.content ->> 'text', 'failed', m.status = 'failed')
      FROM turns t JOIN messages m ON m.id = t.reply_message_id
      WHERE t.id = ${last} AND m.content ->> 'type' = 'text'
    ) AS reply,
    (
      SELECT to_jsonb(owner) FROM (
        SELECT coalesce(p.first_turn_id, p.id) AS turn_id, d.call_id, m.content ->> 'task_preview' AS task, c.text AS result
        FROM delegations d JOIN turns p ON p.id = d.parent_turn_id JOIN messages m ON m.id = d.message_id
        LEFT JOIN tool_calls c ON c.turn_id = d.parent_turn_id AND c.call_id = d.call_id
        WHERE d.turn_id = ${ids}
        UNION ALL
        SELECT coalesce(p.first_turn_id, p.id), NULL, s.name, s.result
        FROM workflow_steps s JOIN workflows w ON w.id = s.workflow_id LEFT JOIN turns p ON p.id = w.turn_id
        WHERE s.turn_id = ${turnId}
        LIMIT 1
      ) owner
    ) AS owner`.execute(db);
  if (rows[0] === undefined) throw new Error('a query without a table has one row');
  return rows[0];
}

export async function listTimedEntries(
  db: Database,
  turnIds: readonly string[],
  after: number,
  limit: number,
): Promise<TimedEntry[]> {
  const rows = await db
    .selectFrom('turn_entries')
    .select(['number', 'kind', 'body', 'object_id', 'hash', 'size', 'created_at'])
    .where('turn_id', 'in', [...turnIds])
    .where('number', '>', after)
    .orderBy('number')
    .limit(limit)
    .execute();
  return rows.map((row) => ({ ...storedEntry(row), at: row.created_at }));
}

/** Includes continuations: they are one turn for the user. */
export async function findTurnIdsOfChain(db: Database, turnId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('turns')
    .select('id')
    .where(({ or, eb }) => or([eb('id', '=', turnId), eb('first_turn_id', '=', turnId)]))
    .execute();
  return rows.map(({ id }) => id);
}
