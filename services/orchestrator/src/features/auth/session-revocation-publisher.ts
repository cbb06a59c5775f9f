import type { SessionEnd, SessionEndingCode } from '@uswarm/contract';

/** Tells the gateways whose sockets to close. */
export interface SessionRevocationPublisher {
  /**
   * Not awaited: the stored state refuses the user already, and an unavailable bus must not delay answers.
   *
   * @param tokenHash of the credential whose sockets are meant; without one, all of the user
   * @param code what their clients are told
   */
  publish(userId: string, tokenHash?: Buffer | null, code?: SessionEndingCode): void;
}

export function createSessionRevocationPublisher(bus: {
  publishSessionEnd(end: SessionEnd): Promise<boolean>;
}): SessionRevocationPublisher {
  return {
    publish(userId, tokenHash = null, code) {
      void bus.publishSessionEnd({ v: 1, user_id: userId, token_hash: tokenHash?.toString('hex') ?? null, code });
    },
  };
}
