import type { MessageErrorCode } from '@uswarm/contract';

export const REFUSALS = [
  'text_too_long',
  'too_many_parts',
  'name_too_long',
  'entry_invalid',
  'entry_out_of_order',
  'tool_not_offered',
  'arguments_changed',
  'other_agent',
  'usage_out_of_range',
  'record_too_large',
] as const;
export type Refusal = (typeof REFUSALS)[number];

/** An untrusted runtime exceeded a reply limit. The turn ends. */
export class ReplyLimitExceeded extends Error {
  override name = 'ReplyLimitExceeded';
  readonly code: MessageErrorCode;
  readonly refusal: Refusal;
  constructor(code: MessageErrorCode, refusal: Refusal) {
    super(code);
    this.code = code;
    this.refusal = refusal;
  }
}
