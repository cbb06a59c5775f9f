import { createTokenBuckets } from '@uswarm/service-kit';
import { GatewayError } from './gateway-error.js';

export interface WorkspaceLimits {
  /** Calls per workspace and minute, and the burst size. */
  perMinute: number;
  /** Concurrent calls per workspace. */
  concurrent: number;
}

export interface WorkspaceLimiter {
  /** Counts a call. @returns a function that ends it. @throws GatewayError `rate_limited` */
  begin(workspaceId: string): () => void;
}

/** A running call ends at an unknown time. */
const CONCURRENT_RETRY_S = 2;

/**
 * Limits a workspace's calls per minute and concurrent calls, so that one workspace cannot use up the limits of the
 * provider account. Counts per process.
 */
export function createWorkspaceLimiter({ perMinute, concurrent }: WorkspaceLimits): WorkspaceLimiter {
  const buckets = createTokenBuckets(perMinute);
  const running = new Map<string, number>();

  function end(workspaceId: string): void {
    const rest = (running.get(workspaceId) ?? 0) - 1;
    if (rest > 0) running.set(workspaceId, rest);
    else running.delete(workspaceId);
  }

  return {
    begin(workspaceId) {
      const calls = running.get(workspaceId) ?? 0;
      if (calls >= concurrent) {
        const message = `This workspace already runs ${concurrent} model calls.`;
        throw new GatewayError('rate_limited', message, { retryAfterS: CONCURRENT_RETRY_S });
      }
      const waitMs = buckets.take(workspaceId);
      if (waitMs > 0) {
        const retryAfterS = Math.ceil(waitMs / 1_000);
        throw new GatewayError('rate_limited', 'This workspace makes too many model calls.', { retryAfterS });
      }
      running.set(workspaceId, calls + 1);
      return () => end(workspaceId);
    },
  };
}
