import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { ApiError, TokenAccess } from '@uswarm/contract';
import type { SigningKey } from '@uswarm/service-kit';
import { z } from 'zod';
import type { SessionData } from './session-data.js';

/** Milliseconds for which a token admits a reconnect after the orchestrator confirmed its session. */
export const RESUME_MS = 10 * 60_000;

/** Tolerated difference between gateway clocks in milliseconds. */
export const CLOCK_TOLERANCE_MS = 30_000;

/** Longer than any issued token. */
const MAX_TOKEN_LENGTH = 4_096;

/** Resume token content. Durations, because clocks differ. */
export interface ResumeClaims extends Pick<
  SessionData,
  'userId' | 'sessionId' | 'credentialHash' | 'tokenHash' | 'issuedAt' | 'access' | 'workspaceIds'
> {
  /** Milliseconds since the orchestrator confirmed the session. */
  confirmedMsAgo: number;
  /** Milliseconds until the credential expires; null if it does not. */
  expiresInMs: number | null;
}

/** Issues and verifies resume tokens. All gateways accept them. */
export interface ResumeTokens {
  issue(claims: ResumeClaims): string;
  /** @returns the claims at the present time. @throws ApiError `resume_token_invalid`, `resume_token_expired` */
  verify(token: string): ResumeClaims;
}

/** Short names, because clients send the token with each connect. */
const Payload = z.object({
  u: z.string(),
  s: z.string(),
  c: z.string(),
  t: z.string().nullable(),
  i: z.string().nullable(),
  w: z.array(z.string()),
  /** Only in the resume token for an API token. */
  p: TokenAccess.nullish(),
  /** Milliseconds before `a` when the session was confirmed, and after `a` until the credential expires. */
  m: z.number().nonnegative(),
  x: z.number().nullable(),
  /** Time of issue in milliseconds since the epoch. */
  a: z.number(),
});

/**
 * A separate key, so that a resume token can never be used as an internal API token. See
 * docs/adr/0041-admit-reconnects-with-a-resume-token.md.
 */
const derivedKey = ({ secret }: SigningKey): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', 'uswarm resume token', 32));

/** Earlier releases would admit a session without its limits, so they must not accept its signature. */
const limitedKey = ({ secret }: SigningKey): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', 'uswarm resume token of an API token', 32));

/** @param keys the first one signs; all are accepted */
export function createResumeTokens(keys: readonly SigningKey[], wallTime = Date.now): ResumeTokens {
  const [current] = keys;
  if (current === undefined) throw new Error('resume tokens need a key');
  const [signing, signingLimited] = [derivedKey(current), limitedKey(current)];
  const accepted = keys.flatMap((key) => [derivedKey(key), limitedKey(key)]);
  const mac = (key: Buffer, body: string): Buffer => createHmac('sha256', key).update(body).digest();

  return {
    issue({
      userId,
      sessionId,
      credentialHash,
      tokenHash,
      issuedAt,
      access,
      workspaceIds,
      confirmedMsAgo,
      expiresInMs,
    }) {
      const payload: z.input<typeof Payload> = {
        u: userId,
        s: sessionId,
        c: credentialHash,
        t: tokenHash,
        i: issuedAt,
        w: [...workspaceIds],
        ...(access === null ? {} : { p: access }),
        m: Math.max(0, Math.round(confirmedMsAgo)),
        x: expiresInMs === null ? null : Math.round(expiresInMs),
        a: wallTime(),
      };
      const body = Buffer.from(JSON.stringify(payload)).toString('base64url');
      return `${body}.${mac(access === null ? signing : signingLimited, body).toString('base64url')}`;
    },

    verify(token) {
      const [body = '', signature = '', ...rest] = token.length > MAX_TOKEN_LENGTH ? [] : token.split('.');
      const given = Buffer.from(signature, 'base64url');
      const signed = accepted.some((key) => {
        const expected = mac(key, body);
        return expected.length === given.length && timingSafeEqual(expected, given);
      });
      if (!signed || rest.length > 0) throw new ApiError('resume_token_invalid');
      // A gateway of another release may sign another form.
      const parsed = Payload.safeParse(JSON.parse(Buffer.from(body, 'base64url').toString()));
      if (!parsed.success) throw new ApiError('resume_token_invalid', { cause: parsed.error });
      const { u, s, c, t, i, w, p = null, m, x, a } = parsed.data;
      const ageMs = wallTime() - a;
      if (ageMs < -CLOCK_TOLERANCE_MS) throw new ApiError('resume_token_invalid');
      const age = Math.max(0, ageMs);
      const claims = { confirmedMsAgo: m + age, expiresInMs: x === null ? null : x - age };
      if (claims.confirmedMsAgo >= RESUME_MS || (claims.expiresInMs !== null && claims.expiresInMs <= 0)) {
        throw new ApiError('resume_token_expired');
      }
      return {
        userId: u,
        sessionId: s,
        credentialHash: c,
        tokenHash: t,
        issuedAt: i,
        access: p,
        workspaceIds: w,
        ...claims,
      };
    },
  };
}
