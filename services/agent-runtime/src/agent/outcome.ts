import { create } from '@bufbuild/protobuf';
import { type Done, DoneSchema, Outcome } from '@uswarm/runtime-proto';
import { ContextTooSmall } from '../context/compaction.js';
import { ModelError } from '../models/port.js';
import { TurnAborted } from '../turns/turn-end.js';

/** The abort reason when a turn's running time is over. */
export class TurnOvertime extends Error {
  override name = 'TurnOvertime';
}

export const completed = (text: string): Done => create(DoneSchema, { outcome: Outcome.COMPLETED, text });

/** The agent decided not to reply. */
export const silent = (): Done => create(DoneSchema, { outcome: Outcome.SILENT });

export const failed = (text: string, errorCode: string, errorMessage: string): Done =>
  create(DoneSchema, { outcome: text === '' ? Outcome.FAILED : Outcome.INCOMPLETE, text, errorCode, errorMessage });

/** The text is what the model answered instead, if anything. */
export const refused = (text: string): Done => failed(text, 'model_refused', 'The model declined to answer.');

/** The end of a turn that `error` interrupted after `text`; undefined for unexpected errors. */
export function interrupted(error: unknown, text: string): Done | undefined {
  if (error instanceof ModelError) return failed(text, error.code, error.message);
  if (error instanceof ContextTooSmall) return failed(text, 'model_rejected', error.message);
  if (error instanceof TurnOvertime) return failed(text, 'turn_deadline_exceeded', 'The reply timed out.');
  if (!(error instanceof TurnAborted)) return undefined;
  switch (error.why) {
    case 'stopped':
      return create(DoneSchema, { outcome: Outcome.STOPPED, text });
    case 'too_long':
      return failed(text, 'reply_too_long', 'The reply exceeded the size limit of a turn.');
    case 'lost':
      return failed(text, 'internal_error', 'The turn was abandoned.');
  }
}

export const unexpected = (text: string): Done =>
  failed(text, 'internal_error', 'Something went wrong in the agent runtime.');
