import { MESSAGE_ERRORS } from '@uswarm/contract';
import { isBlank } from '../../records/visible-text.js';
import { costText } from '../../metering/budget.js';
import type { LimitReached } from '../../metering/usage-limits.js';
import type { FinishedReply } from '../writer/turn-ending.js';

export const TOKEN_LIMIT_REACHED = 'token_limit_reached';

export function limitNote(limit: LimitReached): string {
  return `${reachedLimit(limit)} for this month is reached. It resets on ${limit.resets_at.slice(0, 10)} (UTC).`;
}

function reachedLimit(limit: LimitReached): string {
  if (limit.scope === 'user') return 'The token limit of your plan';
  if (limit.scope === 'workspace') return 'The token limit of this workspace';
  const amount =
    'token_limit' in limit ? `${limit.token_limit.toLocaleString('en-US')} tokens` : costText(limit.cost_limit_micros);
  return `The budget of this workspace (${amount})`;
}

const LIMIT_SENTENCE = MESSAGE_ERRORS.token_limit_reached.message;

/** Keeps the text so far. Pure. */
export function limitedReply(text: string): FinishedReply {
  const incomplete = !isBlank(text);
  return {
    turnStatus: 'failed',
    messageStatus: incomplete ? 'incomplete' : 'failed',
    text: incomplete ? text : LIMIT_SENTENCE,
    errorCode: TOKEN_LIMIT_REACHED,
  };
}

/** For a task that has used its token share. Keeps the text so far. Pure. */
export const spentTask = (text: string): FinishedReply => ({
  ...limitedReply(text),
  text,
  reason: 'The tokens for this task are used up.',
});
