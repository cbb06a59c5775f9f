import { type RawBuilder, sql } from 'kysely';
import { answersUser } from '../records/answers-user.js';

export const queuedTurnsOf = (conversationId: RawBuilder<unknown>): RawBuilder<number> => sql<number>`(
  SELECT count(*) FROM turns t WHERE t.conversation_id = ${conversationId} AND t.status IN ('queued', 'running')
    AND ${answersUser('t.id')}
)`;

/** Inserts a turn for each row in `messages`, which has a turn's columns, and the message as `subject_id`. */
export const insertTurns = (messages: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  INSERT INTO turns (id, workspace_id, conversation_id, agent_id, user_message_id)
  SELECT turn_id, workspace_id, conversation_id, agent_id, subject_id FROM ${messages}`;
