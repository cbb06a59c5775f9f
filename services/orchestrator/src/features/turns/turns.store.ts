import type { MessageContent } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database } from '../../database/database.js';
import type { TurnStatus } from '../../database/schema.js';

export interface NewTurn {
  id: string;
  workspaceId: string;
  conversationId: string;
  agentId: string;
  userMessageId: string;
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
  runtime_instance: string | null;
  created_at: Date;
  user_id: string;
}

export interface HistoryRow {
  id: string;
  role: 'user' | 'agent';
  agent_id: string | null;
  text: string;
}

export interface UsageEntry {
  turnId: string;
  step: number;
  userId: string;
  workspaceId: string;
  provider: string;
  model: string;
  promptTokens: number;
  completionTokens: number;
}

export interface TurnStore {
  insert(turn: NewTurn, db: Database): Promise<void>;
  countActive(conversationId: string, db: Database): Promise<number>;
  get(id: string): Promise<TurnRow | undefined>;
  start(id: string, replyMessageId: string, db: Database): Promise<void>;
  setInstance(id: string, instanceId: string, db: Database): Promise<void>;
  /** @returns the new generation; undefined where `limit` is reached. */
  nextGeneration(id: string, limit: number, db: Database): Promise<number | undefined>;
  /** Whether another reply of the agent is being written. */
  isBusyElsewhere(agentId: string, exceptTurnId: string, db: Database): Promise<boolean>;
  finish(id: string, status: TurnStatus, errorCode: string | null, db: Database): Promise<void>;
  /**
   * What was said up to the message that is answered, newest first. A reply stands behind its own
   * question, also where the next question came before it.
   */
  history(turn: Pick<TurnRow, 'conversation_id' | 'user_message_id'>, limit: number): Promise<HistoryRow[]>;
  /** Tool messages that an earlier generation left running. */
  runningTools(turnId: string, db: Database): Promise<{ id: string; content: MessageContent }[]>;
  /** Once per (turn, step); a repetition changes nothing. */
  recordUsage(entry: UsageEntry, db: Database): Promise<void>;
  /** One more than the last step recorded; 1 where there is none. */
  nextStep(turnId: string): Promise<number>;
}

export function createTurnStore(database: Database): TurnStore {
  return {
    async insert({ id, workspaceId, conversationId, agentId, userMessageId }, db) {
      await db
        .insertInto('turns')
        .values({
          id,
          workspace_id: workspaceId,
          conversation_id: conversationId,
          agent_id: agentId,
          user_message_id: userMessageId,
        })
        .execute();
    },

    async countActive(conversationId, db) {
      const row = await db
        .selectFrom('turns')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .where('conversation_id', '=', conversationId)
        .where('status', 'in', ['queued', 'running'])
        .executeTakeFirstOrThrow();
      return row.count;
    },

    get: (id) =>
      database
        .selectFrom('turns as t')
        .innerJoin('workspaces as w', 'w.id', 't.workspace_id')
        .select([
          't.id',
          't.workspace_id',
          't.conversation_id',
          't.agent_id',
          't.user_message_id',
          't.reply_message_id',
          't.status',
          't.generation',
          't.runtime_instance',
          't.created_at',
          'w.owner_id as user_id',
        ])
        .where('t.id', '=', id)
        .executeTakeFirst(),

    async start(id, replyMessageId, db) {
      await db
        .updateTable('turns')
        .set({ status: 'running', reply_message_id: replyMessageId, started_at: sql<Date>`now()` })
        .where('id', '=', id)
        .execute();
    },

    async setInstance(id, instanceId, db) {
      await db.updateTable('turns').set({ runtime_instance: instanceId }).where('id', '=', id).execute();
    },

    async nextGeneration(id, limit, db) {
      const row = await db
        .updateTable('turns')
        .set({ generation: sql<number>`generation + 1`, runtime_instance: null })
        .where('id', '=', id)
        .where('generation', '<', limit)
        .returning('generation')
        .executeTakeFirst();
      return row?.generation;
    },

    async isBusyElsewhere(agentId, exceptTurnId, db) {
      const row = await db
        .selectFrom('turns')
        .select('id')
        .where('agent_id', '=', agentId)
        .where('status', '=', 'running')
        .where('id', '!=', exceptTurnId)
        .limit(1)
        .executeTakeFirst();
      return row !== undefined;
    },

    async finish(id, status, errorCode, db) {
      await db
        .updateTable('turns')
        .set({ status, error_code: errorCode, finished_at: sql<Date>`now()` })
        .where('id', '=', id)
        .execute();
    },

    async history({ conversation_id, user_message_id }, limit) {
      const { rows } = await sql<HistoryRow>`
        SELECT m.id, m.role, m.agent_id, m.content ->> 'text' AS text
        FROM messages m
        LEFT JOIN turns t ON t.reply_message_id = m.id
        LEFT JOIN messages question ON question.id = t.user_message_id
        WHERE m.conversation_id = ${conversation_id}
          AND coalesce(question.seq, m.seq) <= (SELECT seq FROM messages WHERE id = ${user_message_id})
          AND m.content ->> 'type' = 'text' AND m.content ->> 'text' <> ''
          AND m.role IN ('user', 'agent') AND m.status <> 'failed'
        ORDER BY coalesce(question.seq, m.seq) DESC, m.seq DESC
        LIMIT ${limit}`.execute(database);
      return rows;
    },

    runningTools: (turnId, db) =>
      db
        .selectFrom('messages')
        .select(['id', 'content'])
        .where('turn_id', '=', turnId)
        .where(sql<boolean>`content ->> 'state' = 'running'`)
        .execute(),

    async recordUsage(entry, db) {
      await db
        .insertInto('usage_entries')
        .values({
          turn_id: entry.turnId,
          step: entry.step,
          user_id: entry.userId,
          workspace_id: entry.workspaceId,
          provider: entry.provider,
          model: entry.model,
          prompt_tokens: entry.promptTokens,
          completion_tokens: entry.completionTokens,
        })
        .onConflict((conflict) => conflict.columns(['turn_id', 'step']).doNothing())
        .execute();
    },

    async nextStep(turnId) {
      const row = await database
        .selectFrom('usage_entries')
        .select(({ fn }) => fn.max('step').as('step'))
        .where('turn_id', '=', turnId)
        .executeTakeFirst();
      return (row?.step ?? 0) + 1;
    },
  };
}
