import type { SessionEnd } from '@uswarm/contract';
import type { SessionData } from './session-data.js';

/** The session data that a revocation refers to. */
export type RevocableSession = Pick<SessionData, 'userId' | 'tokenHash' | 'confirmedAt'>;

/** Remembers revocations for as long as a handshake or a resume token may refer to an earlier confirmation. */
export interface Revocations {
  add(ended: SessionEnd): void;
  /** True if the session was revoked after it was confirmed. */
  include(session: RevocableSession): boolean;
  /** Number of users with remembered revocations. */
  size(): number;
}

export const matches = (ended: SessionEnd, { userId, tokenHash }: Omit<RevocableSession, 'confirmedAt'>): boolean =>
  ended.user_id === userId && (ended.token_hash === null || ended.token_hash === tokenHash);

/** @param now monotonic milliseconds */
export function createRevocations(now: () => number, keptMs: number): Revocations {
  /** By latest revocation. */
  const byUser = new Map<string, { ended: SessionEnd; at: number }[]>();

  function forget(before: number): void {
    for (const [userId, revocations] of byUser) {
      if (revocations.some(({ at }) => at > before)) return;
      byUser.delete(userId);
    }
  }

  return {
    add(ended) {
      const at = now();
      const earlier = byUser.get(ended.user_id) ?? [];
      byUser.delete(ended.user_id);
      const others = earlier.filter((entry) => entry.at > at - keptMs && entry.ended.token_hash !== ended.token_hash);
      byUser.set(ended.user_id, [...others, { ended, at }]);
      forget(at - keptMs);
    },
    include: (session) =>
      (byUser.get(session.userId) ?? []).some(({ ended, at }) => at >= session.confirmedAt && matches(ended, session)),
    size: () => byUser.size,
  };
}
