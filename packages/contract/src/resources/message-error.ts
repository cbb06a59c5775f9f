import { z } from 'zod';

interface MessageErrorEntry {
  /** Whether the same question may be answered if it is asked again. */
  retryable: boolean;
  /** A sentence for people; a reply that says nothing else has it as its text. */
  message: string;
}

const entry = (retryable: boolean, message: string): MessageErrorEntry => ({ retryable, message });

/** Why a message failed: the codes of `MessageData.error`. */
export const MESSAGE_ERRORS = {
  stopped: entry(true, 'The reply was stopped.'),
  withdrawn: entry(false, 'The agent started its answer again and withdrew this.'),
  user_banned: entry(false, 'The reply was stopped because the user is banned.'),
  token_limit_reached: entry(false, 'This could not be answered: the token limit of this month is reached.'),

  model_rate_limited: entry(true, 'The model is overloaded. Please ask again later.'),
  model_rejected: entry(false, 'The model refused this question.'),
  model_timeout: entry(true, 'The model did not answer in time. Please ask again.'),
  model_unavailable: entry(true, 'The model cannot be reached. Please ask again later.'),
  step_limit_reached: entry(true, 'The agent used more steps than a reply may have.'),

  runtime_lost: entry(true, 'The answer was lost twice. Please ask again.'),
  runtime_not_ready: entry(true, 'The agents did not start. Please ask again.'),
  runtime_refused: entry(false, 'The agents refused this question.'),
  runtime_output_invalid: entry(true, 'The agents sent something that cannot be shown. Please ask again.'),
  runtime_unreachable: entry(true, 'The agents cannot be reached. Please ask again.'),

  reply_too_long: entry(true, 'The reply grew longer than a reply may be.'),
  reply_too_many_parts: entry(true, 'The agent used more tools or sent more messages than a reply may have.'),
  turn_deadline_exceeded: entry(true, 'The reply took too long. Please ask again.'),

  internal_error: entry(true, 'Something went wrong on our side. Please ask again.'),
} as const satisfies Record<string, MessageErrorEntry>;

export type MessageErrorCode = keyof typeof MESSAGE_ERRORS;

export const MESSAGE_ERROR_CODES = Object.keys(MESSAGE_ERRORS) as [MessageErrorCode, ...MessageErrorCode[]];

export const MessageError = z
  .strictObject({
    code: z.enum(MESSAGE_ERROR_CODES).meta({
      description: `Codes may be added. ${MESSAGE_ERROR_CODES.map((code) => `\`${code}\`: ${MESSAGE_ERRORS[code].message}`).join(' ')}`,
    }),
    retryable: z.boolean().meta({ description: 'Whether the same question may be answered if it is asked again.' }),
    message: z
      .string()
      .meta({ description: 'A sentence in English for people who know no better translation of the code.' }),
  })
  .meta({ id: 'MessageError' });
export type MessageError = z.output<typeof MessageError>;

/** What a message with this code shows; a code that is not in the table is shown as `internal_error`. Pure. */
export function messageError(code: string): MessageError {
  const known = Object.hasOwn(MESSAGE_ERRORS, code) ? (code as MessageErrorCode) : 'internal_error';
  return { code: known, ...MESSAGE_ERRORS[known] };
}
