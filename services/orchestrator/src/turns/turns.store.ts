import type { MessageContent } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import type { AgentActivity, TurnStatus } from '../platform/database/schema.js';
import type { LeasedJob } from '../platform/jobs/job-store.js';
import type { CountedCall } from '../records/usage-rows.js';
import { recordCall, type UsageEntry } from '../records/usage-rows.js';
import { type HistoryRow, readHistory } from './request/history.store.js';
import { inReplyTo } from '../records/answers.js';
import { answersUser } from '../records/answers-user.js';
import type { TurnContext } from './request/turn-contexts.store.js';
import { KNOWN, type KnownOfTurn, type RuntimeOfTurn } from './known-of-turn.js';
import { moveReceipts } from './receipts/receipts.store.js';
import {
  finishTurn,
  insertTask,
  insertTurn,
  type NewTask,
  type NewTurn,
  nextGeneration,
  postponeTurn,
  requestStop,
  resumeTurn,
  setInstance,
  setReply,
  type StartedTurn,
  startTurn,
  suspendTurn,
  type TurnEnd,
  type TurnProcess,
  type Unfinished,
  unfinishedOf,
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
  /** Absent if it was not read with the row. */
  known?: KnownOfTurn | undefined;
}

export type TurnToRun = TurnRow & { runtime: RuntimeOfTurn | undefined };

export interface RunningTurn {
  id: string;
  agentId: string;
  generation: number;
}

export interface TurnStore {
  /** @returns false if the conversation already has `most` queued or running turns */
  insert(turn: NewTurn, most: number, db: Database): Promise<boolean>;
  insertTask(id: string, task: NewTask, db: Database): Promise<void>;
  get(id: string, db?: Database): Promise<TurnRow | undefined>;
  getToRun(id: string): Promise<TurnToRun | undefined>;
  /**
   * Marks the turn as running, and locks its agent, so that the agent's status can be derived.
   *
   * @returns true if the turn must end: see `stopRequested`
   */
  start(
    id: string,
    started: StartedTurn & { instance?: TurnInstance | undefined },
    db: Database,
  ): Promise<{ stopRequested: boolean } | undefined>;
  /** @returns undefined without the lease */
  setInstance(job: LeasedJob, instance: TurnInstance, db: Database): Promise<{ stopRequested: boolean } | undefined>;
  /** @returns the new generation; undefined if the last `limit` generations added no journal entry */
  nextGeneration(id: string, limit: number, db: Database): Promise<number | undefined>;
  /** Begins the next generation, which runs after this delay. */
  postpone(id: string, waitMs: number, db: Database): Promise<void>;
  /** True if another turn for the same user message is queued, is running, or wrote a reply. */
  answeredElsewhere(turn: Pick<TurnRow, 'id' | 'user_message_id'>, db: Database): Promise<boolean>;
  /** Also deletes the context and the tool calls. The journal is kept for later turns. */
  finish(id: string, end: TurnEnd, db: Database): Promise<void>;
  setReply(id: string, replyId: string, db: Database): Promise<void>;
  /** Requires the turn's lease: nothing is added meanwhile. */
  unfinished(id: string, db: Database): Promise<Unfinished>;
  /** Ends a turn that waits for the user. Another turn can resume it. */
  suspend(id: string, db: Database): Promise<void>;
  /**
   * Lets a new turn continue a suspended one, with its budget: moves journal, context, tool calls, receipts, approvals,
   * open cards and tasks to it.
   *
   * @throws Error if the suspended turn has no context
   */
  resume(id: string, suspendedId: string, db: Database): Promise<void>;
  /** Messages up to the turn's user message, newest first. Those up to `coveredSeq` (default: none) are marked. */
  history(
    turn: Pick<TurnRow, 'conversation_id' | 'user_message_id' | 'agent_id'>,
    limit: number,
    coveredSeq?: number,
  ): Promise<HistoryRow[]>;
  agentsOfMessage(userMessageId: string): Promise<string[]>;
  running(conversationId: string, db: Database): Promise<RunningTurn[]>;
  /** Turns that answer this user message or have this reply, in their order. */
  ofMessage(workspaceId: string, messageId: string): Promise<TurnRow[]>;
  status(id: string, db: Database): Promise<TurnStatus | undefined>;
  requestStop(id: string, db: Database): Promise<void>;
  /** True if the turn must end: a stop was requested, the user was banned, or the turn was deleted. */
  stopRequested(id: string, db?: Database): Promise<boolean>;
  openCards(turnId: string, db: Database): Promise<string[]>;
  runningTools(turnId: string, db: Database): Promise<{ id: string; key: string; content: MessageContent }[]>;
  /**
   * Idempotent per turn and step. Reported usage is ignored if the turn's calls pass the model gateway, which counts
   * them; a release 0.2 runtime does not use the gateway.
   *
   * @returns undefined if the step was recorded before, or if the gateway counts the calls
   */
  recordUsage(entry: UsageEntry, db: Database): Promise<CountedCall | undefined>;
  /** The last recorded step plus one. */
  nextStep(turnId: string, db?: Database): Promise<number>;
  lock(id: string, db: Database): Promise<void>;
}

export function createTurnStore(database: Database): TurnStore {
  const rows = (db = database) =>
    db
      .selectFrom('turns as t')
      .innerJoin('workspaces as w', 'w.id', 't.workspace_id')
      .innerJoin('users as u', 'u.id', 'w.owner_id')
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
        't.stop_requested',
        't.resumes_message_id',
        't.shown_entries',
        't.waits_until',
        sql<string>`coalesce(t.first_turn_id, t.id)`.as('usage_turn_id'),
        sql<string>`coalesce(t.repeats_from_message_id, t.resumes_message_id, t.user_message_id)`.as(
          'repeats_from_message_id',
        ),
        inReplyTo('t').as('in_reply_to'),
        'w.owner_id as user_id',
        'task.depth as task_depth',
        'task.prompt as task_prompt',
      ]);
  // All a turn's messages except its reply have a key; the condition matches a partial index.
  const written = (turnId: string, db: Database) =>
    db.selectFrom('messages').where('turn_id', '=', turnId).where('turn_key', 'is not', null);

  return {
    insert: insertTurn,
    insertTask,

    get: (id, db) => rows(db).where('t.id', '=', id).executeTakeFirst(),

    async getToRun(id) {
      const row = await rows()
        .leftJoin('runtimes as r', 'r.workspace_id', 't.workspace_id')
        .select([KNOWN.as('known'), 'r.phase', 'r.reason', 'r.address', 'r.identified_at', 'r.wanted_at'])
        .where('t.id', '=', id)
        .executeTakeFirst();
      if (row === undefined) return undefined;
      const { phase, reason, address, identified_at, wanted_at, ...turn } = row;
      const hasRuntime = phase !== null && reason !== null && wanted_at !== null;
      return { ...turn, runtime: hasRuntime ? { phase, reason, address, identified_at, wanted_at } : undefined };
    },

    start: startTurn,
    setInstance,
    nextGeneration,
    postpone: postponeTurn,

    async answeredElsewhere({ id, user_message_id: messageId }, db) {
      const answered = await sql<{ found: boolean }>`
        SELECT EXISTS (
          SELECT FROM turns t LEFT JOIN messages reply ON reply.id = t.reply_message_id
          WHERE t.user_message_id = ${messageId} AND t.id <> ${id}
            AND ${answersUser('t.id')}
            AND (t.status IN ('queued', 'running', 'done') OR reply.status = 'incomplete')
        ) AS found`.execute(db);
      return answered.rows[0]?.found ?? false;
    },

    finish: finishTurn,
    setReply,
    unfinished: unfinishedOf,
    suspend: suspendTurn,
    async resume(id, suspendedId, db) {
      await resumeTurn(id, suspendedId, db);
      await moveReceipts(suspendedId, id, db);
    },

    history: (
      { conversation_id: conversationId, user_message_id: messageId, agent_id: agentId },
      limit,
      coveredSeq = 0,
    ) => readHistory(database, { conversationId, messageId, agentId, coveredSeq }, limit),

    runningTools: (turnId, db) =>
      written(turnId, db)
        .select(['id', sql<string>`turn_key`.as('key'), 'content'])
        .where(sql<boolean>`content ->> 'state' = 'running'`)
        .execute(),

    async agentsOfMessage(userMessageId) {
      const found = await database
        .selectFrom('turns as t')
        .select('t.agent_id as id')
        .leftJoin('turn_tasks as task', 'task.turn_id', 't.id')
        .where(({ or, eb }) =>
          or([eb('t.user_message_id', '=', userMessageId), eb('t.resumes_message_id', '=', userMessageId)]),
        )
        .where('task.turn_id', 'is', null)
        .execute();
      return found.map(({ id }) => id);
    },

    running: (conversationId, db) =>
      db
        .selectFrom('turns')
        .select(['id', 'agent_id as agentId', 'generation'])
        .where('conversation_id', '=', conversationId)
        .where('status', '=', 'running')
        .execute(),

    ofMessage: (workspaceId, messageId) =>
      rows()
        .where('t.workspace_id', '=', workspaceId)
        .where(({ or, eb }) =>
          or([
            eb('t.user_message_id', '=', messageId),
            eb('t.reply_message_id', '=', messageId),
            eb('t.resumes_message_id', '=', messageId),
          ]),
        )
        .orderBy('t.id')
        .execute(),

    async status(id, db) {
      const row = await db.selectFrom('turns').select('status').where('id', '=', id).executeTakeFirst();
      return row?.status;
    },

    requestStop,

    async stopRequested(id, db) {
      const row = await rows(db).where('t.id', '=', id).executeTakeFirst();
      return row === undefined || row.stop_requested || row.user_banned;
    },

    async openCards(turnId, db) {
      const cards = await written(turnId, db)
        .select('id')
        .where('status', '!=', 'failed')
        .where(sql<boolean>`content ->> 'type' = 'action_card' AND content ->> 'selected_action_id' IS NULL`)
        .execute();
      return cards.map(({ id }) => id);
    },

    recordUsage: recordCall,

    async lock(id, db) {
      await db.selectFrom('turns').select('id').where('id', '=', id).forUpdate().execute();
    },

    async nextStep(turnId, db = database) {
      const row = await db
        .selectFrom('usage_entries')
        .select(({ fn }) => fn.max('step').as('step'))
        .where('turn_id', '=', turnId)
        .executeTakeFirst();
      return (row?.step ?? 0) + 1;
    },
  };
}
