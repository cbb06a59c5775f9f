import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { SignJWT } from 'jose';
import { z } from 'zod';
import { type PrivateKey, SIGNING_ALGORITHM, signingKey } from './oidc-keys.js';
import { readBody } from './request-body.js';

/** Eight hours, so that a chat does not end during a working day. */
export const TOKEN_SECONDS = 8 * 60 * 60;

export interface TokenRequest {
  email: string;
  name: string;
  /** Default: derived from the e-mail address, equal in all issuers. */
  subject?: string;
  audience?: string | string[];
  /** Seconds from now; a negative value gives an expired token. */
  expiresInSeconds?: number;
  /** Seconds by which the issuer's clock is ahead. */
  issuedInSeconds?: number;
  /** Default: this issuer. */
  issuer?: string;
  /** Additional claims, which override the defaults. */
  claims?: Record<string, unknown>;
}

/** Derived from the e-mail address, ignoring case. */
export function subjectOf(email: string): string {
  return createHash('sha256').update(`uswarm development user ${email.toLowerCase()}`).digest('base64url').slice(0, 22);
}

export async function signIdToken(
  key: PrivateKey,
  request: TokenRequest & { issuer: string; audience: string | string[] },
): Promise<string> {
  const { audience, claims, email, expiresInSeconds = TOKEN_SECONDS, issuedInSeconds = 0, issuer, name } = request;
  const now = Math.floor(Date.now() / 1000);
  const iat = Math.min(now + issuedInSeconds, now + expiresInSeconds);
  return new SignJWT({ iat, email, email_verified: true, name, ...claims })
    .setProtectedHeader({ alg: SIGNING_ALGORITHM, kid: key.kid, typ: 'JWT' })
    .setIssuer(issuer)
    .setSubject(request.subject ?? subjectOf(email))
    .setAudience(audience)
    .setExpirationTime(now + expiresInSeconds)
    .sign(await signingKey(key));
}

const tokenRequest = z.object({
  email: z.email('email must be an e-mail address').max(254, 'email is longer than 254 characters'),
  name: z
    .string('name must be a text')
    .trim()
    .min(1, 'name must not be empty')
    .max(200, 'name is longer than 200 characters'),
});

function answer(response: ServerResponse, status: number, body: unknown): void {
  response
    .writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' })
    .end(`${JSON.stringify(body)}\n`);
}

function refuse(response: ServerResponse, status: number, sentence: string): void {
  answer(response, status, { error: 'invalid_request', error_description: sentence });
}

function isLoopback(address: string | undefined): boolean {
  return address !== undefined && /^(::1|(::ffff:)?127\.)/.test(address);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export interface TokenAnswers {
  issue: (user: { email: string; name: string }) => Promise<string>;
  /** Otherwise only clients on this machine get tokens. */
  anywhere: boolean;
}

/** `POST <issuer>/dev/token`: issues a token without authentication. */
export async function answerTokenRequest(
  request: IncomingMessage,
  response: ServerResponse,
  { issue, anywhere }: TokenAnswers,
): Promise<void> {
  if (!anywhere && !isLoopback(request.socket.remoteAddress)) {
    refuse(response, 403, 'Development tokens are only given to programs on this machine.');
    return;
  }
  if (request.method !== 'POST') {
    response.setHeader('allow', 'POST');
    refuse(response, 405, 'Send a POST request with {"email": …, "name": …}.');
    return;
  }
  const body = await readBody(request);
  const json = body === undefined ? undefined : parsed(body);
  if (typeof json !== 'object' || json === null) {
    refuse(response, 400, 'The body must be a JSON object {"email": …, "name": …} of at most 16 KiB.');
    return;
  }
  const user = tokenRequest.safeParse(json);
  if (user.success) answer(response, 200, { id_token: await issue(user.data) });
  else refuse(response, 400, `${user.error.issues.map(({ message }) => message).join('; ')}.`);
}
