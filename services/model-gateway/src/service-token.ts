import { MODEL_GATEWAY } from '@uswarm/contract';
import { type SigningKey, signModelCallsToken } from '@uswarm/service-kit';

/** Half the time for which the internal API accepts a token. */
const REUSED_MS = 30_000;

/**
 * Returns service tokens for model calls at the internal API. A token is used for several calls: signing one for each
 * call delays it.
 *
 * @param now milliseconds on the clock that the token states
 */
export function createServiceToken(key: SigningKey, now: () => number = Date.now): () => Promise<string> {
  let last: { token: string; signedAt: number } | undefined;
  return async () => {
    const at = now();
    // A clock that was set back could make the token older than it seems.
    if (last !== undefined && at >= last.signedAt && at - last.signedAt < REUSED_MS) return last.token;
    last = { token: await signModelCallsToken(key, MODEL_GATEWAY), signedAt: at };
    return last.token;
  };
}
