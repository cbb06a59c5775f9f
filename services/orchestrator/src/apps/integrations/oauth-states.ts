import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '@uswarm/service-kit';

/** A state that this service signed and that has not expired. It is valid for one code. */
export interface KnownState {
  nonce: string;
  expiresAt: Date;
}

/** OAuth's `state` parameter binds a flow to its user and provider (RFC 9700 §4.7). */
export interface OAuthStates {
  issue(userId: string, provider: string): string;
  /** @returns undefined if the state is forged, expired, or belongs to another user or provider */
  verify(state: string, userId: string, provider: string): KnownState | undefined;
}

/** Allows for a sign-in at the provider with a second factor. */
const VALID_MS = 30 * 60_000;
const STATE = /^([\w-]{22})\.(\d{13})\.([\w-]{43})$/;

export function createOAuthStates({ secret, clock }: { secret: string; clock: Clock }): OAuthStates {
  // Derive a separate key: the secret signs other values too, and their signatures must not be valid states.
  const key = createHmac('sha256', secret).update('state of an OAuth flow').digest();
  const signature = (nonce: string, expiry: string, userId: string, provider: string): Buffer =>
    createHmac('sha256', key)
      .update(JSON.stringify([nonce, expiry, userId, provider]))
      .digest();
  return {
    issue(userId, provider) {
      const nonce = randomBytes(16).toString('base64url');
      const expiry = String(clock.now().getTime() + VALID_MS);
      return `${nonce}.${expiry}.${signature(nonce, expiry, userId, provider).toString('base64url')}`;
    },
    verify(state, userId, provider) {
      const [, nonce, expiry, sent] = STATE.exec(state) ?? [];
      if (nonce === undefined || expiry === undefined || sent === undefined) return undefined;
      const expected = signature(nonce, expiry, userId, provider);
      if (!timingSafeEqual(Buffer.from(sent, 'base64url'), expected)) return undefined;
      const expiresAt = new Date(Number(expiry));
      return expiresAt > clock.now() ? { nonce, expiresAt } : undefined;
    },
  };
}
