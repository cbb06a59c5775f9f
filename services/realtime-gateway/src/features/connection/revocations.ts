import type { SessionEnd } from '@uswarm/contract';
import type { SessionData } from './session-data.js';

/** The session data that a revocation refers to. */
export type RevocableSession = Pick<SessionData, 'userId' | 'tokenHash' | 'access' | 'confirmedAt'>;

/** Remembers revocations for as long as a handshake or a resume token may refer to an earlier confirmation. */
export interface Revocations {
  add(ended: SessionEnd): void;
  /** True if the session was revoked after it was confirmed. */
  include(session: RevocableSession): boolean;
  /** Number of users with remembered revocations. */
  size(): number;
}

export function matches(
  ended: SessionEnd,
  { userId, tokenHash, access }: Omit<RevocableSession, 'confirmedAt'>,
): boolean {
  if (ended.user_id !== userId) return false;
  if (ended.token_hash !== null) return ended.token_hash === tokenHash;
  return access === null || ended.except_api_tokens !== true;
}

const haveSameScope = (one: SessionEnd, other: SessionEnd): boolean =>
  one.token_hash === other.token_hash && (one.except_api_tokens ?? false) === (other.except_api_tokens ?? false);

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
      const others = earlier.filter((entry) => entry.at > at - keptMs && !haveSameScope(entry.ended, ended));
      byUser.set(ended.user_id, [...others, { ended, at }]);
      forget(at - keptMs);
    },
    include: (session) =>
      (byUser.get(session.userId) ?? []).some(({ ended, at }) => at >= session.confirmedAt && matches(ended, session)),
    size: () => byUser.size,
  };
}
