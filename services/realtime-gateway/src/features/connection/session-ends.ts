import type { SessionEnd, SessionEndingCode } from '@uswarm/contract';
import type { SessionData } from './handshake.js';

/** A socket, as far as ending its session is concerned. */
export interface OpenSession extends Pick<SessionData, 'userId' | 'tokenHash' | 'issuedAt' | 'askedAt'> {
  close(code: SessionEndingCode): void;
}

/** Which sockets there are, by whom they are, so that they can be closed when a session ends. */
export interface SessionEnds {
  /** @returns removes the socket; undefined if its session was revoked since the orchestrator was asked about it */
  enter(session: OpenSession): (() => void) | undefined;
  /** Closes the sockets that are meant, and refuses those whose handshake is under way. */
  end(ended: SessionEnd): void;
  /** Every socket there is. */
  open(): OpenSession[];
}

/** Longer than a handshake can take from the question to the socket. */
const REMEMBERED_MS = 60_000;

const isMeant = (ended: SessionEnd, { userId, tokenHash }: Pick<OpenSession, 'userId' | 'tokenHash'>): boolean =>
  ended.user_id === userId && (ended.token_hash === null || ended.token_hash === tokenHash);

export function createSessionEnds(now: () => number): SessionEnds {
  const byUser = new Map<string, Set<OpenSession>>();
  let recent: { ended: SessionEnd; at: number }[] = [];

  return {
    enter(session) {
      if (recent.some(({ ended, at }) => at >= session.askedAt && isMeant(ended, session))) return undefined;
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
        if (isMeant(ended, session)) session.close(ended.code ?? 'session_ended');
      }
    },
    open: () => [...byUser.values()].flatMap((sessions) => [...sessions]),
  };
}
