import type { SessionEnd, SessionEndingCode } from '@uswarm/contract';
import { CLOCK_TOLERANCE_MS, RESUME_MS } from './resume-token.js';
import { createRevocations, matches, type RevocableSession } from './revocations.js';
import type { AcceptedCredential, SessionData } from './session-data.js';

/** An open socket's session. */
export interface OpenSession {
  /** Changes when the session is renewed or confirmed. */
  readonly data: Pick<SessionData, 'userId'> & AcceptedCredential;
  close(code: SessionEndingCode): void;
}

/** Tracks the open sockets per user, so that they are closed when their session ends. */
export interface SessionRegistry {
  /** @returns a function that removes the socket; undefined if the session ended after it was confirmed */
  add(session: OpenSession): (() => void) | undefined;
  /** True if the session ended after it was confirmed. */
  hasEnded(session: RevocableSession): boolean;
  /** Closes the matching sockets, also those whose handshake is in progress. */
  end(ended: SessionEnd): void;
  /** All open sockets. */
  open(): OpenSession[];
}

/** @param now monotonic milliseconds */
export function createSessionRegistry(now: () => number): SessionRegistry {
  const byUser = new Map<string, Set<OpenSession>>();
  const revocations = createRevocations(now, RESUME_MS + CLOCK_TOLERANCE_MS);

  return {
    add(session) {
      const { userId } = session.data;
      if (revocations.include(session.data)) return undefined;
      const ofUser = byUser.get(userId) ?? new Set();
      byUser.set(userId, ofUser.add(session));
      return () => {
        ofUser.delete(session);
        if (ofUser.size === 0 && byUser.get(userId) === ofUser) byUser.delete(userId);
      };
    },
    hasEnded: revocations.include,
    end(ended) {
      revocations.add(ended);
      for (const session of byUser.get(ended.user_id) ?? []) {
        if (matches(ended, session.data)) session.close(ended.code ?? 'session_ended');
      }
    },
    open: () => [...byUser.values()].flatMap((sessions) => [...sessions]),
  };
}
