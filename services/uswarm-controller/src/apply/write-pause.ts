import { busyError } from './failure.js';
import { KubeError, type KubeClient } from '@uswarm/kube-client';
import { type Backoff, backoffDelay } from '@uswarm/service-kit';

/** Pauses all writes in this process while the API server returns 429. */
export interface WritePause {
  /** Milliseconds until the next write is allowed; 0 if it is allowed now. */
  leftMs(): number;
  /** @param retryAfterS seconds of the `Retry-After` header, if present */
  refused(retryAfterS: number | undefined): void;
  accepted(): void;
}

const PAUSE: Backoff = { initialMs: 500, maxMs: 10_000 };
/** Longest pause in milliseconds, also for a longer `Retry-After`. */
const MAX_PAUSE_MS = 60_000;

export function createWritePause(now = (): number => performance.now(), random = Math.random): WritePause {
  let until = -Infinity;
  let rounds = 0;
  const leftMs = (): number => Math.max(0, until - now());
  return {
    leftMs,
    refused(retryAfterS = 0) {
      // Of concurrent writes, only the first one that fails starts the pause.
      if (leftMs() > 0) return;
      until = now() + Math.min(MAX_PAUSE_MS, retryAfterS * 1_000 + backoffDelay(PAUSE, rounds, random));
      rounds += 1;
    },
    accepted() {
      if (leftMs() === 0) rounds = 0;
    },
  };
}

export type SyncClient = Pick<
  KubeClient,
  'get' | 'create' | 'apply' | 'mergePatch' | 'jsonPatch' | 'replace' | 'delete'
>;

/** Wraps a client so that writes during the pause fail immediately with 429. */
export function withPause(client: SyncClient, pause: WritePause): SyncClient {
  const guarded = async <T>(write: () => Promise<T>): Promise<T> => {
    const left = pause.leftMs();
    if (left > 0) throw new KubeError(429, { message: 'writes pause because the API server is busy' }, left / 1_000);
    try {
      const answer = await write();
      pause.accepted();
      return answer;
    } catch (error) {
      const busy = busyError(error);
      if (busy?.status === 429) pause.refused(busy.retryAfter);
      throw error;
    }
  };
  return {
    get: client.get,
    create: (...args) => guarded(() => client.create(...args)),
    apply: (...args) => guarded(() => client.apply(...args)),
    mergePatch: (...args) => guarded(() => client.mergePatch(...args)),
    jsonPatch: (...args) => guarded(() => client.jsonPatch(...args)),
    replace: (...args) => guarded(() => client.replace(...args)),
    delete: (...args) => guarded(() => client.delete(...args)),
  };
}
