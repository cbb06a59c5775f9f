import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import { answerEnded, inReplyTo } from '../records/answers.js';
import { listOrder } from '../records/position.js';

export interface SentQuestion {
  workspaceId: string;
  userId: string;
  localId: string;
}

/** The message that was sent with this local id. */
export async function findQuestion(
  db: Database,
  { workspaceId, userId, localId }: SentQuestion,
): Promise<string | undefined> {
  const { rows } = await sql<{ id: string }>`
    SELECT id FROM messages
    WHERE workspace_id = ${workspaceId} AND sender_id = ${userId} AND local_id = ${localId}`.execute(db);
  return rows[0]?.id;
}

/** The question whose answer continues after the choice on a card; null if no answer does. */
export async function findQuestionOfChoice(db: Database, cardId: string): Promise<string | null> {
  // The choice is the user's first message after the card's last change.
  const { rows } = await sql<{ question: string | null }>`
    SELECT coalesce(
      (SELECT ${inReplyTo('t')} FROM turns t WHERE t.user_message_id = (
        SELECT m.id FROM messages m
        WHERE m.conversation_id = card.conversation_id AND coalesce(m.before_seq, m.seq) > card.rev AND m.role = 'user'
        ORDER BY ${listOrder('newer')} LIMIT 1
      ) LIMIT 1), card.in_reply_to) AS question
    FROM messages card WHERE card.id = ${cardId}`.execute(db);
  return rows[0]?.question ?? null;
}

/** The message that shows a turn's task. @param turnId the first turn in the chain */
export async function findTask(db: Database, turnId: string): Promise<string | undefined> {
  const { rows } = await sql<{ id: string }>`
    SELECT d.message_id AS id FROM turns t JOIN delegations d ON d.turn_id = t.id
    WHERE t.id = ${turnId} OR t.first_turn_id = ${turnId} LIMIT 1`.execute(db);
  return rows[0]?.id;
}

export async function isAnswered(db: Database, questionId: string): Promise<boolean> {
  const { rows } = await sql<{ ended: boolean | null }>`
    SELECT ${answerEnded('m')} AS ended FROM (SELECT ${questionId}::uuid AS in_reply_to) m`.execute(db);
  return rows[0]?.ended === true;
}
