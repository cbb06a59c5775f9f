import type { FailureReason } from '@uswarm/contract/userswarm';

/** The UserSwarm asks for what cannot or must not be rendered; the message is for its author. */
export class InvalidSpecError extends Error {
  override name = 'InvalidSpecError';
  readonly reason: Extract<FailureReason, 'InvalidSpec' | 'PolicyDenied'>;

  constructor(reason: InvalidSpecError['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}
