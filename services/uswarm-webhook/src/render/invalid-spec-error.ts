import type { FailureReason } from '@uswarm/contract/userswarm';

/** The spec is invalid or not allowed. The message is shown to the UserSwarm's author. */
export class InvalidSpecError extends Error {
  override name = 'InvalidSpecError';
  readonly reason: Extract<FailureReason, 'InvalidSpec' | 'PolicyDenied'>;

  constructor(reason: InvalidSpecError['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}
