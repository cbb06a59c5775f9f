import { MAX_MODEL_REQUEST_BYTES } from '@uswarm/service-kit';
import { GatewayError } from './gateway-error.js';

/** Holds the memory of large requests until they have been sent. */
export interface RequestMemory {
  /** @returns a function that frees the memory. @throws GatewayError `rate_limited` */
  hold(workspaceId: string, bytes: number): () => void;
}

/** Larger requests are counted. Most requests have fewer bytes. */
export const SMALL_BYTES = 1024 * 1024;
/** Bytes of all large requests. A request needs up to six times its bytes while it is read and sent. */
const TOTAL_BYTES = 2 * MAX_MODEL_REQUEST_BYTES;
/** Bytes of one workspace's large requests. */
const WORKSPACE_BYTES = TOTAL_BYTES / 2;
/** Most providers begin a response within seconds. */
const RETRY_S = 5;

/** Limits the memory of large requests, such as those with images. Counts per process. */
export function createRequestMemory(): RequestMemory {
  const held = new Map<string, number>();
  let total = 0;

  function add(workspaceId: string, bytes: number): void {
    total += bytes;
    const own = (held.get(workspaceId) ?? 0) + bytes;
    if (own > 0) held.set(workspaceId, own);
    else held.delete(workspaceId);
  }

  return {
    hold(workspaceId, bytes) {
      if (bytes <= SMALL_BYTES) return () => undefined;
      if (total + bytes > TOTAL_BYTES || (held.get(workspaceId) ?? 0) + bytes > WORKSPACE_BYTES) {
        throw new GatewayError('rate_limited', 'Too many large requests are being sent.', { retryAfterS: RETRY_S });
      }
      add(workspaceId, bytes);
      return () => add(workspaceId, -bytes);
    },
  };
}
