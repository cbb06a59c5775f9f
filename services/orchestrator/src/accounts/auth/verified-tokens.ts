import { createHash } from 'node:crypto';
import type { CompactJWSHeaderParameters, JWTPayload, JWTVerifyGetKey } from 'jose';

export interface VerifiedToken<Value> {
  value: Value;
  payload: Pick<JWTPayload, 'exp' | 'nbf'>;
  header: CompactJWSHeaderParameters;
  /** The key that verified the signature. */
  key: unknown;
  /** The issuer's published keys. */
  keys: JWTVerifyGetKey;
}

/** Remembers verified tokens, because clients send the same token with each request until it expires. */
export interface VerifiedTokens<Value> {
  add(token: string, verified: VerifiedToken<Value>): void;
  /**
   * Undefined unless the issuer still publishes the key that verified the token, and the token's time claims still
   * hold. The token must then be verified.
   */
  find(token: string): Promise<Value | undefined>;
}

export interface VerifiedTokensOptions {
  /** Allowed clock difference in seconds. */
  clockToleranceS: number;
  /** The oldest tokens above this number are forgotten. */
  maxTokens?: number;
}

const MAX_TOKENS = 5_000;

export function createVerifiedTokens<Value>({
  clockToleranceS,
  maxTokens = MAX_TOKENS,
}: VerifiedTokensOptions): VerifiedTokens<Value> {
  // By hash, so that the process does not keep credentials.
  const known = new Map<string, VerifiedToken<Value>>();
  const nameOf = (token: string): string => createHash('sha256').update(token).digest('base64');

  function isInTime({ exp = 0, nbf = 0 }: VerifiedToken<Value>['payload']): boolean {
    const now = Math.floor(Date.now() / 1_000);
    return exp > now - clockToleranceS && nbf <= now + clockToleranceS;
  }

  /** Compares keys by identity: keys that were fetched again are new objects. */
  async function hasCurrentKey({ header, key, keys }: VerifiedToken<Value>): Promise<boolean> {
    try {
      return (await keys(header, { payload: '', signature: '' })) === key;
    } catch {
      return false;
    }
  }

  return {
    add(token, verified) {
      known.set(nameOf(token), verified);
      if (known.size > maxTokens) known.delete(known.keys().next().value ?? '');
    },
    async find(token) {
      const name = nameOf(token);
      const verified = known.get(name);
      if (verified === undefined) return undefined;
      if (isInTime(verified.payload) && (await hasCurrentKey(verified))) return verified.value;
      known.delete(name);
      return undefined;
    },
  };
}
