import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type FetchImplementation,
  type JWTVerifyGetKey,
} from 'jose';
import { z } from 'zod';
import { readableOf, readJson } from '../../platform/http/foreign-answer.js';
import type { LimitedFetch } from './limited-fetch.js';

export interface KeySetOptions {
  fetch: LimitedFetch;
  /** Milliseconds between two fetches caused by an unknown key id or a failed fetch. */
  cooldownMs: number;
  /** The keys are fetched again after this many ms. */
  maxAgeMs?: number;
  /** Called after each fetch. `answered` is true if the issuer responded. */
  onFetch?: (answered: boolean) => void;
}

const MAX_AGE_MS = 10 * 60_000;
const TIMEOUT_MS = 5_000;

/**
 * Fetches an issuer's published keys again when they expire, or when a token names an unknown key. While the issuer is
 * unavailable, known keys stay valid, and only one request per cooldown waits for a new attempt.
 */
export function createKeySet(
  url: URL,
  { fetch, cooldownMs, maxAgeMs = MAX_AGE_MS, onFetch = () => undefined }: KeySetOptions,
): JWTVerifyGetKey {
  const remote = createRemoteJWKSet(url, {
    cooldownDuration: cooldownMs,
    cacheMaxAge: maxAgeMs,
    timeoutDuration: TIMEOUT_MS,
    [customFetch]: watchedFetch(fetch, onFetch),
  });
  let triedAt = -Infinity;
  let old: JWTVerifyGetKey | undefined;

  async function freshKeys(): Promise<boolean> {
    if (remote.fresh) return true;
    const now = performance.now();
    if (now - triedAt < cooldownMs) return false;
    triedAt = now;
    return remote.reload().then(
      () => true,
      () => false,
    );
  }

  return async (header, token) => {
    // Only for old keys: each call copies them.
    const known = remote.fresh ? undefined : remote.jwks();
    if (known === undefined || (await freshKeys())) {
      old = undefined;
      return remote(header, token);
    }
    old ??= createLocalJWKSet(known);
    try {
      return await old(header, token);
    } catch (error) {
      // The key may be new: only the issuer can tell.
      if (error instanceof errors.JWKSNoMatchingKey) return remote(header, token);
      throw error;
    }
  };
}

const watchedFetch =
  (fetch: LimitedFetch, onFetch: (answered: boolean) => void): FetchImplementation =>
  async (url, options) => {
    try {
      const response = await fetch(url, options);
      onFetch(response.ok);
      return response.ok ? await withoutOddKeys(response) : response;
    } catch (error) {
      onFetch(false);
      throw error;
    }
  };

/** A null field counts as absent. */
const Key = z
  .looseObject({ kty: z.string() })
  .transform((key) => Object.fromEntries(Object.entries(key).filter(([, value]) => value !== null)));
const KeySet = z.looseObject({ keys: z.array(z.unknown()).transform((keys) => readableOf(Key).parse(keys)) });

/**
 * An invalid key must not make the others unusable. Any response that is not a key set stays unchanged, and is refused.
 */
async function withoutOddKeys(response: Response): Promise<Response> {
  const text = await response.text();
  const { data } = KeySet.safeParse(readJson(text));
  return new Response(data === undefined ? text : JSON.stringify(data), { status: response.status });
}
