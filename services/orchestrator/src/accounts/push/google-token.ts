import type { Clock } from '@uswarm/service-kit';
import type { Outgoing } from '@uswarm/service-kit/outgoing';
import { importPKCS8, SignJWT } from 'jose';
import { z } from 'zod';
import { oddAsAbsent, readJson } from '../../platform/http/foreign-answer.js';
import { readText } from '../../platform/http/read-text.js';
import type { ServiceAccount } from './service-account.js';

const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging';
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const ASSERTION_S = 3_600;
/** A token is renewed this long before it expires. */
const MARGIN_MS = 60_000;
const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 64 * 1_024;

/** Applies if the answer does not name the token's lifetime. */
const DEFAULT_LIFE_S = 600;
const Answer = z.object({ access_token: z.string().min(1), expires_in: oddAsAbsent(z.coerce.number().positive()) });

/** Gets access tokens for a service account (RFC 7523) and keeps them until they expire. */
export interface GoogleTokens {
  /** @throws Error if no token is issued */
  token(): Promise<string>;
  /** Call it when the API has refused the token. */
  drop(token: string): void;
}

export interface GoogleTokensDeps {
  account: ServiceAccount;
  outgoing: Pick<Outgoing, 'request'>;
  clock: Clock;
}

export function createGoogleTokens({ account, outgoing, clock }: GoogleTokensDeps): GoogleTokens {
  let kept: { token: string; until: number } | undefined;
  let running: Promise<string> | undefined;

  async function assertion(): Promise<string> {
    const key = await importPKCS8(account.private_key, 'RS256');
    const now = Math.floor(clock.now().getTime() / 1_000);
    return new SignJWT({ scope: SCOPE })
      .setProtectedHeader({
        alg: 'RS256',
        typ: 'JWT',
        ...(account.private_key_id === undefined ? {} : { kid: account.private_key_id }),
      })
      .setIssuer(account.client_email)
      .setAudience(account.token_uri)
      .setIssuedAt(now)
      .setExpirationTime(now + ASSERTION_S)
      .sign(key);
  }

  async function exchange(): Promise<string> {
    const form = new URLSearchParams({ grant_type: GRANT, assertion: await assertion() });
    const { statusCode, body } = await outgoing.request(account.token_uri, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await readText(body, MAX_ANSWER_BYTES);
    if (statusCode !== 200) throw new Error(`the token endpoint answered ${statusCode}: ${text.slice(0, 300)}`);
    const { access_token: token, expires_in: seconds = DEFAULT_LIFE_S } = Answer.parse(readJson(text));
    kept = { token, until: clock.now().getTime() + seconds * 1_000 - MARGIN_MS };
    return token;
  }

  return {
    async token() {
      if (kept !== undefined && clock.now().getTime() < kept.until) return kept.token;
      running ??= exchange().finally(() => {
        running = undefined;
      });
      return running;
    },
    drop(token) {
      if (kept?.token === token) kept = undefined;
    },
  };
}
