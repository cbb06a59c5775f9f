import type { SessionEnd, SessionEndingCode } from '@uswarm/contract';
import type { SessionData } from './handshake.js';

/** The session of an open socket. */
export interface OpenSession extends Pick<SessionData, 'userId' | 'tokenHash' | 'issuedAt' | 'requestedAt'> {
  close(code: SessionEndingCode): void;
}

/** Tracks the open sockets per user, so that they are closed when their session ends. */
export interface SessionRegistry {
  /** @returns a function that removes the socket; undefined if the session ended after its authentication request */
  add(session: OpenSession): (() => void) | undefined;
  /** Closes the matching sockets, also those whose handshake is in progress. */
  end(ended: SessionEnd): void;
  /** All open sockets. */
  open(): OpenSession[];
}

/** Longer than the time between the response of the orchestrator and the open socket. */
const RECENT_MS = 60_000;

const matches = (ended: SessionEnd, { userId, tokenHash }: Pick<OpenSession, 'userId' | 'tokenHash'>): boolean =>
  ended.user_id === userId && (ended.token_hash === null || ended.token_hash === tokenHash);

export function createSessionRegistry(now: () => number): SessionRegistry {
  const byUser = new Map<string, Set<OpenSession>>();
  let recent: { ended: SessionEnd; at: number }[] = [];

  return {
    add(session) {
      if (recent.some(({ ended, at }) => at >= session.requestedAt && matches(ended, session))) return undefined;
      const ofUser = byUser.get(session.userId) ?? new Set();
      byUser.set(session.userId, ofUser.add(session));
      return () => {
        ofUser.delete(session);
        if (ofUser.size === 0 && byUser.get(session.userId) === ofUser) byUser.delete(session.userId);
      };
    },
    end(ended) {
      const at = now();
      recent = [...recent.filter((earlier) => at - earlier.at < RECENT_MS), { ended, at }];
      for (const session of byUser.get(ended.user_id) ?? []) {
        if (matches(ended, session)) session.close(ended.code ?? 'session_ended');
      }
    },
    open: () => [...byUser.values()].flatMap((sessions) => [...sessions]),
  };
}
