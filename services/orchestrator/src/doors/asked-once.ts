import { createHash, randomUUID } from 'node:crypto';
import type { Request, Response } from 'express';
import type { UserActor } from '../accounts/auth/actor.js';
import type { Database } from '../platform/database/database.js';
import { deleteUsedKey, findUsedKey, replaceUsedKey } from '../platform/idempotency/idempotency.store.js';
import type { Question, TextQuestion } from './ask.js';

export interface Attempt {
  actor: Pick<UserActor, 'userId'>;
  question: TextQuestion;
  request: Pick<Request, 'headers' | 'body'>;
  response: Pick<Response, 'once'>;
}

/** Gives a question the same key in all attempts of a program to ask it. */
export type AskedOnce = (attempt: Attempt) => Promise<Question>;

/** OpenAI's packages count their attempts in it, from 0, and send no key. */
const ATTEMPT_HEADER = 'x-stainless-retry-count';

export function createAskedOnce(database: Database): AskedOnce {
  /** Recognizes a repeated attempt by its content, as long as no attempt has got a response. */
  async function keyOfAttempts({ actor, question, request, response }: Attempt): Promise<string | undefined> {
    const { userId } = actor;
    const attempt = request.headers[ATTEMPT_HEADER];
    if (attempt === undefined) return undefined;
    const content = JSON.stringify(['attempts', question.continues, request.body]);
    const keyHash = createHash('sha256').update(content).digest();
    const earlier = attempt === '0' ? undefined : await findUsedKey(database, userId, keyHash);
    const use = { userId, keyHash, requestHash: keyHash, subjectId: earlier?.subjectId ?? randomUUID() };
    if (earlier === undefined) await replaceUsedKey(database, use);
    // If it stays, it only matters for an attempt whose first one did not arrive.
    response.once('finish', () => void deleteUsedKey(database, use).catch(() => undefined));
    return use.subjectId;
  }

  return async (attempt) => {
    const { question, request } = attempt;
    const { 'idempotency-key': sent = '' } = request.headers;
    const key = sent === '' ? await keyOfAttempts(attempt) : String(sent);
    if (key === undefined) return question;
    const { text } = question.says;
    return {
      ...question,
      // All attempts begin the same conversation.
      continues: question.continues ?? { chat: `Idempotency-Key ${key}` },
      says: { text, key: JSON.stringify([key, text]) },
    };
  };
}
