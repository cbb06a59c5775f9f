import { z } from 'zod';
import { Failure } from './failure.js';
import type { HttpClient } from './http-client.js';

export interface IdTokenSource {
  /** A token that is good for another minute at least. @throws Failure when the issuer gives none. */
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

const MARGIN_MS = 60_000;

const Answer = z.object({ id_token: z.string().min(1) });

/** ID tokens of the development issuer; a new one is fetched when the last is about to expire. */
export function createIdTokenSource({ http, issuer, email, name, now = Date.now }: IdTokenDeps): IdTokenSource {
  let cached: { token: string; expiresAt: number } | undefined;
  return {
    async current() {
      if (cached !== undefined && cached.expiresAt - now() > MARGIN_MS) return cached.token;
      const url = `${issuer.replace(/\/$/, '')}/dev/token`;
      const { status, body } = await http.send({ method: 'POST', url, json: { email, name } });
      const answer = Answer.safeParse(body);
      if (status !== 200 || !answer.success) {
        throw new Failure(`The development issuer gave no token for ${email} (status ${status}).`);
      }
      const token = answer.data.id_token;
      cached = { token, expiresAt: expiryOf(token) };
      return token;
    },
  };
}

/** Milliseconds since 1970; 0, which is long ago, where the token does not say. */
export function expiryOf(token: string): number {
  try {
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { exp?: unknown };
    return typeof claims.exp === 'number' ? claims.exp * 1000 : 0;
  } catch {
    return 0;
  }
}
