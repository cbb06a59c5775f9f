import type { SessionEnd, SessionEndingCode } from '@uswarm/contract';

/** Tells the gateways which sockets to close. */
export interface SessionRevocationPublisher {
  /**
   * Not awaited: the database already rejects the user, and an unavailable bus must not delay responses.
   *
   * @param tokenHash closes this credential's sockets; without it, all sockets of the user
   * @param code sent to the clients
   */
  publish(userId: string, tokenHash?: Buffer | null, code?: SessionEndingCode): void;
  /** Closes all the user's sockets, except sockets with API tokens. */
  publishSignOut(userId: string): void;
}

export function createSessionRevocationPublisher(bus: {
  publishSessionEnd(end: SessionEnd): Promise<boolean>;
}): SessionRevocationPublisher {
  return {
    publish(userId, tokenHash = null, code) {
      void bus.publishSessionEnd({ v: 1, user_id: userId, token_hash: tokenHash?.toString('hex') ?? null, code });
    },
    publishSignOut(userId) {
      const end = { v: 1, user_id: userId, token_hash: null, code: 'logged_out', except_api_tokens: true } as const;
      void bus.publishSessionEnd(end);
    },
  };
}
