import type { InformerTiming, KubeConfig, Resource } from '@uswarm/kube-client';
import type { Backoff, Clock, Logger, Registry } from '@uswarm/service-kit';
import type { LeaderElectionTiming } from './leader/leader-election.js';
import type { RolloutLimits } from './rollout/plan.js';

export interface ControllerOptions {
  kubeConfig: KubeConfig;
  hook: {
    url: string;
    token?: string | undefined;
    timeoutMs?: number;
    /** Milliseconds without the webhook after which UserSwarms that need it say so. */
    outageMs?: number;
    /** Milliseconds after which a newest revision that does not answer any more is given up. */
    revisionGoneMs?: number;
  };
  /** The namespaces that children may be in; what happens in others is neither seen nor touched. */
  runtimeNamespaces: readonly string[];
  /** What is looked after; UserSwarms unless a test brings a kind of its own. */
  resource?: Resource;
  /** Seconds. spec: supporting §8 */
  resyncS?: number;
  workers?: number;
  rollout?: RolloutLimits;
  /** Milliseconds after it began to lead, before anybody gets a go-ahead. Default: 0 */
  rolloutInitialDelayMs?: number;
  /** Runtimes that start at once; 0 for no limit. */
  maxConcurrentStarts?: number;
  /** Without it the controller leads at once: only where there is no other. */
  lease?: { namespace: string; name: string; durationS?: number; timing?: LeaderElectionTiming } | undefined;
  /** The pod's name: who holds the lease, and who recorded an Event. */
  identity: string;
  eventsNamespace?: string;
  logger: Logger;
  registry?: Registry;
  clock?: Clock;
  timing?: InformerTiming;
  backoff?: Backoff;
}

/** No pause is longer than what people wait for a condition to show that the cause is gone. */
export const BACKOFF: Backoff = { initialMs: 200, maxMs: 10_000 };
export const RESYNC_S = 30;
export const WORKERS = 16;
export const HOOK_TIMEOUT_MS = 10_000;
export const ROLLOUT_LIMITS: RolloutLimits = { maxConcurrent: 5, deadlineS: 86_400, maxFailures: 3 };
export const MAX_CONCURRENT_STARTS = 100;
