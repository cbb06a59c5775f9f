import { z } from 'zod';

interface MessageErrorEntry {
  /** True if the same message can succeed later. */
  retryable: boolean;
  /** A sentence for users; the text of an otherwise empty reply. */
  message: string;
}

const entry = (retryable: boolean, message: string): MessageErrorEntry => ({ retryable, message });

/** Why a message failed: the codes of `MessageData.error`. */
export const MESSAGE_ERRORS = {
  stopped: entry(true, 'The reply was stopped.'),
  withdrawn: entry(false, 'The agent restarted its reply and withdrew this message.'),
  user_banned: entry(false, 'The reply was stopped because the user is banned.'),
  token_limit_reached: entry(false, 'The token limit of this month is reached.'),

  model_rate_limited: entry(true, 'The model is overloaded. Please try again later.'),
  model_rejected: entry(false, 'The model rejected this request.'),
  model_refused: entry(false, 'The model declined to answer.'),
  model_timeout: entry(true, 'The model did not respond in time. Please try again.'),
  model_unavailable: entry(true, 'The model is unavailable. Please try again later.'),
  output_limit_reached: entry(true, 'The answer reached the length limit of the model.'),
  step_limit_reached: entry(true, 'The agent exceeded the step limit of a reply.'),

  runtime_lost: entry(true, 'The reply was interrupted twice. Please try again.'),
  runtime_not_ready: entry(true, 'The agents did not start. Please try again.'),
  runtime_refused: entry(false, 'The agents rejected this request.'),
  runtime_output_invalid: entry(true, 'The agents sent an invalid response. Please try again.'),
  runtime_unreachable: entry(true, 'The agents are unreachable. Please try again.'),
  storage_unavailable: entry(true, 'The progress of the reply could not be stored or read. Please try again.'),

  reply_too_long: entry(true, 'The reply exceeded the length limit.'),
  reply_too_many_parts: entry(true, 'The agent exceeded the limit of tool calls and messages of a reply.'),
  turn_deadline_exceeded: entry(true, 'The reply timed out. Please try again.'),

  internal_error: entry(true, 'Something went wrong. Please try again.'),
} as const satisfies Record<string, MessageErrorEntry>;

export type MessageErrorCode = keyof typeof MESSAGE_ERRORS;

export const MESSAGE_ERROR_CODES = Object.keys(MESSAGE_ERRORS) as [MessageErrorCode, ...MessageErrorCode[]];

const MessageErrorExtra = z
  .strictObject({
    trace_id: z.string().meta({ description: "The question's OpenTelemetry trace; name it in support requests." }),
  })
  .meta({ id: 'MessageErrorExtra', description: 'Details for support. More fields may be added.' });

export const MessageError = z
  .strictObject({
    code: z.enum(MESSAGE_ERROR_CODES).meta({
      description: `More codes may be added. ${MESSAGE_ERROR_CODES.map((code) => `\`${code}\`: ${MESSAGE_ERRORS[code].message}`).join(' ')}`,
    }),
    retryable: z.boolean().meta({ description: 'Whether a retry of the same message may succeed.' }),
    message: z.string().meta({ description: 'An English message, for clients without a translation of the code.' }),
    extra: MessageErrorExtra.optional().meta({ description: 'Only from servers with tracing.' }),
  })
  .meta({ id: 'MessageError', description: 'Why a message failed or is incomplete.' });
export type MessageError = z.output<typeof MessageError>;

/** The error for this code; unknown codes become `internal_error`. `traceId`: the failed turn's. */
export function messageError(code: string, traceId: string | null = null): MessageError {
  const known = Object.hasOwn(MESSAGE_ERRORS, code) ? (code as MessageErrorCode) : 'internal_error';
  const extra = traceId === null ? {} : { extra: { trace_id: traceId } };
  return { code: known, ...MESSAGE_ERRORS[known], ...extra };
}
