import { MESSAGE_ERRORS } from '@uswarm/contract';
import type { LimitReached } from '../usage/usage-limits.js';
import type { FinishedReply } from './turn-writer.js';

export const TOKEN_LIMIT_REACHED = 'token_limit_reached';

/** The text of the system message that reports the token limit. */
export function limitNote({ scope, resets_at }: LimitReached): string {
  const whose = scope === 'user' ? 'your plan' : 'this workspace';
  return `The token limit of ${whose} for this month is reached. It resets on ${resets_at.slice(0, 10)} (UTC).`;
}

const LIMIT_SENTENCE = MESSAGE_ERRORS.token_limit_reached.message;

/** The final state of a reply that the token limit stopped. It keeps its text so far. Pure. */
export function limitedReply(text: string): FinishedReply {
  const incomplete = text !== '';
  return {
    turnStatus: 'failed',
    messageStatus: incomplete ? 'incomplete' : 'failed',
    text: incomplete ? text : LIMIT_SENTENCE,
    errorCode: TOKEN_LIMIT_REACHED,
  };
}
