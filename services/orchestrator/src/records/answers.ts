import { type RawBuilder, sql } from 'kysely';
import { answersUser } from './answers-user.js';

export interface Answer {
  /** The first in the chain of continued turns. */
  turnId: string;
  /** The user's message; null if there is none, or if it is deleted. */
  inReplyTo: string | null;
}

/** An absent field means that there is none. */
export const answerFields = (turnId: string | null, inReplyTo: string | null) => ({
  ...(turnId === null ? {} : { turn_id: turnId }),
  ...(inReplyTo === null ? {} : { in_reply_to: inReplyTo }),
});

/**
 * The user message that turn `t` answers: the first one in the chain that it, or the turn that it replaces, continues.
 * An edited decision is a new question. A workflow's report answers the message that led to the workflow.
 */
export const inReplyTo = (t: string): RawBuilder<string | null> => {
  const asked = sql.raw(`coalesce(${t}.resumes_message_id, ${t}.user_message_id)`);
  const first = sql.raw(`${t}.repeats_from_message_id`);
  return sql`coalesce(
    (SELECT repeated.id FROM messages repeated WHERE repeated.id = ${first} AND repeated.role = 'user'
      AND EXISTS (SELECT FROM messages m WHERE m.id = ${asked} AND m.edited_at IS NULL)),
    (SELECT question.id FROM messages question WHERE question.id = ${asked} AND question.role = 'user'),
    (SELECT w.user_message_id FROM workflows w WHERE w.report_message_id = ${asked}))`;
};

/** Columns for messages that `turnId` writes, as `id` and `in_reply_to`: one row, with nulls without a turn. */
export const answerOf = (turnId: string | undefined): RawBuilder<unknown> =>
  turnId === undefined
    ? sql`(SELECT NULL::uuid AS id, NULL::uuid AS in_reply_to)`
    : sql`(
      SELECT max(coalesce(t.first_turn_id, t.id)::text)::uuid AS id, max(${inReplyTo('t')}::text)::uuid AS in_reply_to
      FROM turns t WHERE t.id = ${turnId}::uuid
    )`;

/** True if no turn waits or runs for the user message to which message `m` belongs; null for other messages. */
export const answerEnded = (m: string): RawBuilder<boolean | null> => {
  const question = sql.raw(`${m}.in_reply_to`);
  return sql`CASE WHEN ${question} IS NOT NULL THEN NOT EXISTS (
    SELECT FROM turns t
    WHERE (t.user_message_id = ${question} OR t.resumes_message_id = ${question} OR t.repeats_from_message_id = ${question})
      AND (t.status IN ('queued', 'running') OR EXISTS (SELECT FROM turn_contexts c WHERE c.turn_id = t.id))
      AND ${answersUser('t.id')} AND ${inReplyTo('t')} = ${question}
  ) END`;
};
