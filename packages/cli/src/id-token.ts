import { z } from 'zod';
import { Failure } from './failure.js';
import type { HttpClient } from './http-client.js';

export interface IdTokenSource {
  /** Returns a token that is valid for at least 90 more seconds. @throws Failure when the issuer returns none */
  current: () => Promise<string>;
}

export interface IdTokenDeps {
  http: Pick<HttpClient, 'send'>;
  /** The development issuer of local mode. */
  issuer: string;
  email: string;
  name: string;
  now?: () => number;
}

/** Longer than the time for which the gateway announces an expiry. */
const MARGIN_MS = 90_000;

const TokenResponse = z.object({ id_token: z.string().min(1) });

/** Fetches ID tokens from the development issuer, and caches each until shortly before it expires. */
export function createIdTokenSource({ http, issuer, email, name, now = Date.now }: IdTokenDeps): IdTokenSource {
  let cached: { token: string; expiresAt: number } | undefined;
  return {
    async current() {
      if (cached !== undefined && cached.expiresAt - now() > MARGIN_MS) return cached.token;
      const url = `${issuer.replace(/\/$/, '')}/dev/token`;
      const { status, body } = await http.send({ method: 'POST', url, json: { email, name } });
      const response = TokenResponse.safeParse(body);
      if (status !== 200 || !response.success) {
        throw new Failure(`The development issuer returned no token for ${email} (status ${status}).`);
      }
      const token = response.data.id_token;
      cached = { token, expiresAt: expiryOf(token) };
      return token;
    },
  };
}

/** The expiry in milliseconds since 1970; 0 (expired) if the token has none. */
export function expiryOf(token: string): number {
  try {
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { exp?: unknown };
    return typeof claims.exp === 'number' ? claims.exp * 1000 : 0;
  } catch {
    return 0;
  }
}
