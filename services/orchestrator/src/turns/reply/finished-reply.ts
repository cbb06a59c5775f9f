import { MESSAGE_ERRORS, type MessageErrorCode } from '@uswarm/contract';
import { type Done, Outcome } from '@uswarm/runtime-proto';
import { isBlank } from '../../records/visible-text.js';
import type { FinishedReply } from '../writer/turn-ending.js';
import { MAX_NOTE_LENGTH } from './runtime-output.js';

export const STOPPED_SENTENCE = MESSAGE_ERRORS.stopped.message;

/** The reply keeps its text so far. Pure. */
export function stoppedReply(text: string): FinishedReply {
  const incomplete = !isBlank(text);
  return {
    turnStatus: 'stopped',
    messageStatus: incomplete ? 'incomplete' : 'failed',
    text: incomplete ? text : STOPPED_SENTENCE,
    errorCode: null,
  };
}

/** The reply keeps its text so far, or states why it failed. Pure. */
export function failedReply(text: string, errorCode: MessageErrorCode): FinishedReply {
  const incomplete = text !== '';
  return {
    turnStatus: 'failed',
    messageStatus: incomplete ? 'incomplete' : 'failed',
    text: incomplete ? text : MESSAGE_ERRORS[errorCode].message,
    errorCode,
  };
}

/** Pure. */
export function finishedReply(done: Done, streamed: string): FinishedReply {
  const text = done.text || streamed;
  const errorCode = done.errorCode === '' ? null : done.errorCode;
  switch (done.outcome) {
    case Outcome.COMPLETED:
      return { turnStatus: 'done', messageStatus: 'delivered', text, errorCode };
    case Outcome.SILENT:
      return { turnStatus: 'done', messageStatus: 'silent', text: '', errorCode };
    case Outcome.STOPPED:
      return stoppedReply(text);
    case Outcome.INCOMPLETE:
      return { turnStatus: 'failed', messageStatus: 'incomplete', text, errorCode: errorCode ?? 'internal_error' };
    default:
      return {
        turnStatus: 'failed',
        messageStatus: 'failed',
        text: text === '' ? done.errorMessage.slice(0, MAX_NOTE_LENGTH) : text,
        errorCode: errorCode ?? 'internal_error',
      };
  }
}

const TOKEN_LIMIT_REACHED = 'token_limit_reached';

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
