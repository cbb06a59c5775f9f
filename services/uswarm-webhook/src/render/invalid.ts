import type { FailureReason } from '@uswarm/contract/userswarm';

/** The UserSwarm asks for what cannot or must not be rendered; the message is for its author. */
export class NotRenderable extends Error {
  override name = 'NotRenderable';
  readonly reason: Extract<FailureReason, 'InvalidSpec' | 'PolicyDenied'>;

  constructor(reason: NotRenderable['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}
