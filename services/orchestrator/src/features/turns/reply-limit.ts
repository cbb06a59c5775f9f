import type { MessageErrorCode } from '@uswarm/contract';

/** An untrusted runtime exceeded a limit of a reply. */
export class ReplyLimitExceeded extends Error {
  override name = 'ReplyLimitExceeded';
  readonly code: MessageErrorCode;
  constructor(code: MessageErrorCode) {
    super(code);
    this.code = code;
  }
}
