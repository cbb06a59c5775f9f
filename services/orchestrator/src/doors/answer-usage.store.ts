import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';

/** Tokens of an answer: all model calls in its turns, also failed ones. */
export interface TokenCounts {
  prompt: number;
  cached: number;
  completion: number;
  reasoning: number;
}

export async function countAnswerTokens(db: Database, questionId: string): Promise<TokenCounts> {
  const { rows } = await sql<TokenCounts>`
    SELECT coalesce(sum(e.prompt_tokens), 0)::int8 AS prompt, coalesce(sum(e.cached_tokens), 0)::int8 AS cached,
      coalesce(sum(e.completion_tokens), 0)::int8 AS completion, coalesce(sum(e.reasoning_tokens), 0)::int8 AS reasoning
    FROM turns t JOIN usage_entries e ON e.turn_id = t.id
    WHERE (t.user_message_id = ${questionId} OR t.resumes_message_id = ${questionId} OR t.repeats_from_message_id = ${questionId})
      AND e.kind = 'step'`.execute(db);
  return rows[0] ?? { prompt: 0, cached: 0, completion: 0, reasoning: 0 };
}
