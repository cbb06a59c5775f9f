import { create } from '@bufbuild/protobuf';
import { type Done, DoneSchema, Outcome } from '@uswarm/runtime-proto';
import { ModelError } from '../models/model.js';
import { TurnAborted } from '../turns/turn-end.js';

export const completed = (text: string): Done =>
  create(DoneSchema, { outcome: text === '' ? Outcome.SILENT : Outcome.COMPLETED, text });

export const failed = (text: string, errorCode: string, errorMessage: string): Done =>
  create(DoneSchema, { outcome: text === '' ? Outcome.FAILED : Outcome.INCOMPLETE, text, errorCode, errorMessage });

/** The end of a turn that `error` interrupted after `text`; undefined for unexpected errors. */
export function interrupted(error: unknown, text: string): Done | undefined {
  if (error instanceof ModelError) return failed(text, error.code, error.message);
  if (!(error instanceof TurnAborted)) return undefined;
  switch (error.why) {
    case 'stopped':
      return create(DoneSchema, { outcome: Outcome.STOPPED, text });
    case 'too_long':
      return failed(text, 'internal_error', 'The reply exceeded the size limit of a turn.');
    case 'lost':
      return failed(text, 'internal_error', 'The turn was abandoned.');
  }
}

export const unexpected = (text: string): Done =>
  failed(text, 'internal_error', 'Something went wrong in the agent runtime.');
