import type { Clock } from '@uswarm/service-kit';
import { importPKCS8, SignJWT } from 'jose';

/** Apple accepts a token for an hour, and refuses new ones within 20 minutes. */
const LIFE_MS = 45 * 60_000;

/** Apple identifies the sender by these tokens. */
export interface ApnsTokens {
  token(): Promise<string>;
  /** Call it when Apple reports that the token has expired. */
  drop(token: string): void;
}

export interface ApnsKey {
  /** PEM from the .p8 file. */
  key: string;
  keyId: string;
  teamId: string;
}

export function createApnsTokens({ key, keyId, teamId }: ApnsKey, clock: Clock): ApnsTokens {
  let kept: { token: Promise<string>; text?: string; until: number } | undefined;

  async function sign(): Promise<string> {
    const privateKey = await importPKCS8(key, 'ES256');
    return new SignJWT()
      .setProtectedHeader({ alg: 'ES256', kid: keyId })
      .setIssuer(teamId)
      .setIssuedAt(Math.floor(clock.now().getTime() / 1_000))
      .sign(privateKey);
  }

  return {
    async token() {
      const now = clock.now().getTime();
      if (kept === undefined || now >= kept.until) kept = { token: sign(), until: now + LIFE_MS };
      const current = kept;
      const text = await current.token;
      current.text = text;
      return text;
    },
    drop(token) {
      if (kept?.text === token) kept = undefined;
    },
  };
}
