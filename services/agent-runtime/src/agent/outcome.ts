import { create } from '@bufbuild/protobuf';
import { type Done, DoneSchema, Outcome } from '@uswarm/runtime-proto';
import { ModelError } from '../models/model.js';
import { TurnAborted } from '../turns/turn-end.js';

export const completed = (text: string): Done =>
  create(DoneSchema, { outcome: text === '' ? Outcome.SILENT : Outcome.COMPLETED, text });

export const failed = (text: string, errorCode: string, errorMessage: string): Done =>
  create(DoneSchema, { outcome: text === '' ? Outcome.FAILED : Outcome.INCOMPLETE, text, errorCode, errorMessage });

/** How a turn ends that `error` interrupted after `text`; undefined when nobody foresaw the error. */
export function interrupted(error: unknown, text: string): Done | undefined {
  if (error instanceof ModelError) return failed(text, error.code, error.message);
  if (!(error instanceof TurnAborted)) return undefined;
  switch (error.why) {
    case 'stopped':
      return create(DoneSchema, { outcome: Outcome.STOPPED, text });
    case 'too_long':
      return failed(text, 'internal_error', 'The reply grew longer than a turn may be.');
    case 'lost':
      return failed(text, 'internal_error', 'The turn was given up.');
  }
}

export const unforeseen = (text: string): Done =>
  failed(text, 'internal_error', 'Something went wrong in the agent runtime.');
