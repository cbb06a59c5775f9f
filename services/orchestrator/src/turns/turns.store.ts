import type { MessageContent } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import type { AgentActivity, TurnStatus } from '../platform/database/schema.js';
import { type HistoryRow, readHistory, readSteering } from './request/history.store.js';
import { inReplyTo } from '../records/answers.js';
import { answersUser } from '../records/answers-user.js';
import type { TurnContext } from './request/turn-contexts.store.js';
import { KNOWN, type KnownOfTurn, type RuntimeOfTurn } from './known-of-turn.js';
import { moveReceipts } from './receipts/receipts.store.js';
import { moveTurnParts, type TurnProcess } from '../records/turn-rows.js';

export { recordCall } from '../records/usage-rows.js';

export {
  requestStop,
  startTurn,
  setReply,
  suspendTurn,
  finishTurn,
  unfinishedOf,
  setInstance,
  nextGeneration,
  postponeTurn,
  mergeTurn,
  findSteeringTurns,
  endSteeringTurns,
} from '../records/turn-rows.js';

export interface TurnInstance extends TurnProcess {
  context?: TurnContext | undefined;
}

export interface TurnRow {
  id: string;
  workspace_id: string;
  conversation_id: string;
  agent_id: string;
  user_message_id: string;
  reply_message_id: string | null;
  status: TurnStatus;
  generation: number;
  /** Null if the turn waits, or is not running. */
  activity: AgentActivity | null;
  runtime_instance: string | null;
  created_at: Date;
  started_at: Date | null;
  user_id: string;
  /** The turn must end without another model call. */
  user_banned: boolean;
  stop_requested: boolean;
  /** The first turn's user message, if this turn continues it after an approval. */
  resumes_message_id: string | null;
  /** The turn can repeat calls that other turns have sent since this message. */
  repeats_from_message_id: string;
  /** Number of journal entries whose text earlier replies show. */
  shown_entries: number;
  /** Until then, the turn waits without a worker, because the model provider limits requests. */
  waits_until: Date | null;
  /** Usage is recorded under this id: the first turn in the chain of continued turns. */
  usage_turn_id: string;
  /** The user message that it answers; null if there is none. */
  in_reply_to: string | null;
  /** 1 or more for a turn that works on a background task; null for a turn that answers the user. */
  task_depth: number | null;
  /** A background turn's only history message. */
  task_prompt: string | null;
  /** The schedule's run that it works on. */
  schedule_run_id: string | null;
  /** The span that queued it; null without tracing. */
  traceparent: string | null;
  agent_slug: string;
  /** Absent if it was not read with the row. */
  known?: KnownOfTurn | undefined;
}

export type TurnToRun = TurnRow & {
  runtime: RuntimeOfTurn | undefined;
  /** A queued turn that can answer its message, too; null for turns that must run themselves. */
  next_turn_id: string | null;
};

export interface RunningTurn {
  id: string;
  agentId: string;
  generation: number;
}

const rows = (db: Database) =>
  db
    .selectFrom('turns as t')
    .innerJoin('workspaces as w', 'w.id', 't.workspace_id')
    .innerJoin('users as u', 'u.id', 'w.owner_id')
    .innerJoin('agents as agent', 'agent.id', 't.agent_id')
    .leftJoin('turn_tasks as task', 'task.turn_id', 't.id')
    .select([
      't.id',
      't.workspace_id',
      't.conversation_id',
      't.agent_id',
      't.user_message_id',
      't.reply_message_id',
      't.status',
      't.generation',
      't.activity',
      't.runtime_instance',
      't.created_at',
      't.started_at',
      'u.is_banned as user_banned',
      // A turn that was queued while the user deleted its agent.
      sql<boolean>`t.stop_requested OR agent.deleted_at IS NOT NULL`.as('stop_requested'),
      't.resumes_message_id',
      't.shown_entries',
      't.waits_until',
      't.traceparent',
      't.schedule_run_id',
      'agent.slug as agent_slug',
      sql<string>`coalesce(t.first_turn_id, t.id)`.as('usage_turn_id'),
      sql<string>`coalesce(t.repeats_from_message_id, t.resumes_message_id, t.user_message_id)`.as(
        'repeats_from_message_id',
      ),
      inReplyTo('t').as('in_reply_to'),
      'w.owner_id as user_id',
      'task.depth as task_depth',
      'task.prompt as task_prompt',
    ]);

/** True for a turn that has not begun and only answers what the user wrote. Requires an alias for its message, too. */
const isPlain = (t: string, message: string) =>
  sql.raw(`${t}.status = 'queued' AND ${t}.reply_message_id IS NULL AND ${t}.resumes_message_id IS NULL
    AND ${t}.repeats_from_message_id IS NULL AND ${t}.schedule_run_id IS NULL AND NOT ${t}.stop_requested
    AND ${message}.role = 'user'`);

/** The next turn in the conversation if it can answer turn `t`'s message, too: the same agent answers the next message. */
const NEXT_TURN = sql<string | null>`(
  SELECT CASE WHEN n.agent_id = t.agent_id AND ${isPlain('n', 'm')} AND m.id <> own.id THEN n.id END
  FROM messages own JOIN turns n ON n.conversation_id = t.conversation_id AND n.status = 'queued' AND n.id <> t.id
    JOIN messages m ON m.id = n.user_message_id
  WHERE own.id = t.user_message_id AND ${isPlain('t', 'own')} AND ${answersUser('t.id')} AND ${answersUser('n.id')}
    AND (m.seq, n.id) > (own.seq, t.id)
  ORDER BY m.seq, n.id LIMIT 1
)`;

// All a turn's messages except its reply have a key; the condition matches a partial index.
const written = (db: Database, turnId: string) =>
  db.selectFrom('messages').where('turn_id', '=', turnId).where('turn_key', 'is not', null);

export function getTurn(db: Database, id: string): Promise<TurnRow | undefined> {
  return rows(db).where('t.id', '=', id).executeTakeFirst();
}

export async function getTurnToRun(db: Database, id: string): Promise<TurnToRun | undefined> {
  const row = await rows(db)
    .leftJoin('runtimes as r', 'r.workspace_id', 't.workspace_id')
    .select([
      KNOWN.as('known'),
      NEXT_TURN.as('next_turn_id'),
      'r.phase',
      'r.reason',
      'r.address',
      'r.identified_at',
      'r.wanted_at',
    ])
    .where('t.id', '=', id)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { phase, reason, address, identified_at, wanted_at, ...turn } = row;
  const hasRuntime = phase !== null && reason !== null && wanted_at !== null;
  return { ...turn, runtime: hasRuntime ? { phase, reason, address, identified_at, wanted_at } : undefined };
}

/** True if another turn for the same user message is queued, is running, or wrote a reply. */
export async function isAnsweredElsewhere(
  db: Database,
  { id, user_message_id: messageId }: Pick<TurnRow, 'id' | 'user_message_id'>,
): Promise<boolean> {
  const answered = await sql<{ found: boolean }>`
    SELECT EXISTS (
      SELECT FROM turns t LEFT JOIN messages reply ON reply.id = t.reply_message_id
      WHERE t.user_message_id = ${messageId} AND t.id <> ${id}
        AND ${answersUser('t.id')}
        AND (t.status IN ('queued', 'running', 'done') OR reply.status = 'incomplete')
    ) AS found`.execute(db);
  return answered.rows[0]?.found ?? false;
}

/**
 * Lets a new turn continue a suspended one, with its budget: moves journal, context, tool calls, receipts, approvals,
 * open cards and tasks to it.
 *
 * @throws Error if the suspended turn has no context
 */
export async function resumeTurn(db: Database, id: string, suspendedId: string): Promise<void> {
  await moveTurnParts(db, id, suspendedId);
  await moveReceipts(db, suspendedId, id);
}

/** Messages up to the turn's user message, newest first. Those up to `coveredSeq` (default: none) are marked. */
export function loadHistory(
  db: Database,
  {
    conversation_id: conversationId,
    user_message_id: messageId,
    agent_id: agentId,
  }: Pick<TurnRow, 'conversation_id' | 'user_message_id' | 'agent_id'>,
  limit: number,
  coveredSeq = 0,
): Promise<HistoryRow[]> {
  return readHistory(db, { conversationId, messageId, agentId, coveredSeq }, limit);
}

/** See `readSteering`. */
export function loadSteering(
  db: Database,
  { id, resumes_message_id: resumed, user_message_id: messageId }: TurnRow,
): Promise<HistoryRow[]> {
  return readSteering(db, id, resumed ?? messageId);
}

export function findRunningTools(
  db: Database,
  turnId: string,
): Promise<{ id: string; key: string; content: MessageContent }[]> {
  return written(db, turnId)
    .select(['id', sql<string>`turn_key`.as('key'), 'content'])
    .where(sql<boolean>`content ->> 'state' = 'running'`)
    .execute();
}

export async function findAgentsOfMessage(db: Database, userMessageId: string): Promise<string[]> {
  const found = await db
    .selectFrom('turns as t')
    .select('t.agent_id as id')
    .leftJoin('turn_tasks as task', 'task.turn_id', 't.id')
    .where(({ or, eb }) =>
      or([eb('t.user_message_id', '=', userMessageId), eb('t.resumes_message_id', '=', userMessageId)]),
    )
    .where('task.turn_id', 'is', null)
    .execute();
  return found.map(({ id }) => id);
}

export function findRunningTurns(db: Database, conversationId: string): Promise<RunningTurn[]> {
  return db
    .selectFrom('turns')
    .select(['id', 'agent_id as agentId', 'generation'])
    .where('conversation_id', '=', conversationId)
    .where('status', '=', 'running')
    .execute();
}

/**
 * Turns that answer this user message, also together with others, read the decision of which it tells, or have this reply, in
 * their order.
 */
export function findTurnsOfMessage(db: Database, workspaceId: string, messageId: string): Promise<TurnRow[]> {
  return rows(db)
    .where('t.workspace_id', '=', workspaceId)
    .where(({ or, eb }) =>
      or([
        eb('t.user_message_id', '=', messageId),
        eb('t.reply_message_id', '=', messageId),
        eb('t.resumes_message_id', '=', messageId),
        // An array, so that the index of ids is used.
        sql<boolean>`t.id = ANY(ARRAY(SELECT merged_into_turn_id FROM turns WHERE user_message_id = ${messageId}))`,
        sql<boolean>`t.id = ANY(ARRAY(SELECT turn_id FROM tool_approvals WHERE decision_message_id = ${messageId}))`,
      ]),
    )
    .orderBy('t.id')
    .execute();
}

export async function getTurnStatus(db: Database, id: string): Promise<TurnStatus | undefined> {
  const row = await db.selectFrom('turns').select('status').where('id', '=', id).executeTakeFirst();
  return row?.status;
}

/** True if the turn must end: a stop was requested, the user was banned, or the turn was deleted. */
export async function isStopRequested(db: Database, id: string): Promise<boolean> {
  const row = await rows(db).where('t.id', '=', id).executeTakeFirst();
  return row === undefined || row.stop_requested || row.user_banned;
}

export async function findOpenCards(db: Database, turnId: string): Promise<string[]> {
  const cards = await written(db, turnId)
    .select('id')
    .where('status', '!=', 'failed')
    .where(sql<boolean>`content ->> 'type' = 'action_card' AND content ->> 'selected_action_id' IS NULL`)
    .execute();
  return cards.map(({ id }) => id);
}

export async function lockTurn(db: Database, id: string): Promise<void> {
  await db.selectFrom('turns').select('id').where('id', '=', id).forUpdate().execute();
}

/** The last recorded step plus one. */
export async function findNextStep(db: Database, turnId: string): Promise<number> {
  const row = await db
    .selectFrom('usage_entries')
    .select(({ fn }) => fn.max('step').as('step'))
    .where('turn_id', '=', turnId)
    // Recordings have negative steps.
    .where('step', '>', 0)
    .executeTakeFirst();
  return (row?.step ?? 0) + 1;
}
