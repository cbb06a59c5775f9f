import type { SessionEnd, SessionEndingCode } from '@uswarm/contract';
import type { SessionData } from './handshake.js';

/** The part of a socket that ending its session needs. */
export interface OpenSession extends Pick<SessionData, 'userId' | 'tokenHash' | 'issuedAt' | 'askedAt'> {
  close(code: SessionEndingCode): void;
}

/** Tracks the open sockets per user, so that they are closed when their session ends. */
export interface SessionRegistry {
  /** @returns a function that removes the socket; undefined if the session ended after the orchestrator was asked about it */
  enter(session: OpenSession): (() => void) | undefined;
  /** Closes the matching sockets, and refuses those whose handshake is in progress. */
  end(ended: SessionEnd): void;
  /** All open sockets. */
  open(): OpenSession[];
}

/** Longer than a handshake can take between the orchestrator's answer and the open socket. */
const REMEMBERED_MS = 60_000;

const matches = (ended: SessionEnd, { userId, tokenHash }: Pick<OpenSession, 'userId' | 'tokenHash'>): boolean =>
  ended.user_id === userId && (ended.token_hash === null || ended.token_hash === tokenHash);

export function createSessionRegistry(now: () => number): SessionRegistry {
  const byUser = new Map<string, Set<OpenSession>>();
  let recent: { ended: SessionEnd; at: number }[] = [];

  return {
    enter(session) {
      if (recent.some(({ ended, at }) => at >= session.askedAt && matches(ended, session))) return undefined;
      const ofUser = byUser.get(session.userId) ?? new Set();
      byUser.set(session.userId, ofUser.add(session));
      return () => {
        ofUser.delete(session);
        if (ofUser.size === 0 && byUser.get(session.userId) === ofUser) byUser.delete(session.userId);
      };
    },
    end(ended) {
      const at = now();
      recent = [...recent.filter((earlier) => at - earlier.at < REMEMBERED_MS), { ended, at }];
      for (const session of byUser.get(ended.user_id) ?? []) {
        if (matches(ended, session)) session.close(ended.code ?? 'session_ended');
      }
    },
    open: () => [...byUser.values()].flatMap((sessions) => [...sessions]),
  };
}
