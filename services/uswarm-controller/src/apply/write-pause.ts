import { busyError } from './failure.js';
import { KubeError, type KubeClient } from '@uswarm/kube-client';
import { type Backoff, backoffDelay } from '@uswarm/service-kit';

/** A pause of all writes of the process while the API server says that there are too many requests. */
export interface WritePause {
  /** Milliseconds until the next write may go out; 0 for now. */
  leftMs(): number;
  /** @param retryAfterS seconds that the server asks for, if it does */
  refused(retryAfterS: number | undefined): void;
  accepted(): void;
}

const PAUSE: Backoff = { initialMs: 500, maxMs: 10_000 };
/** Milliseconds; a server that asks for more is asked nevertheless. */
const MAX_PAUSE_MS = 60_000;

export function createWritePause(now = (): number => performance.now(), random = Math.random): WritePause {
  let until = -Infinity;
  let rounds = 0;
  const leftMs = (): number => Math.max(0, until - now());
  return {
    leftMs,
    refused(retryAfterS = 0) {
      // Of the writes that were under way together, the first begins the pause.
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

/** The client whose writes keep to the pause: one that has to wait is refused here, as the server would refuse it. */
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
