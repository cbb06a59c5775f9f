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
    /** Milliseconds of a webhook outage after which UserSwarms that need it report it. */
    outageMs?: number;
    /** Milliseconds without a response after which the newest revision is abandoned. */
    revisionGoneMs?: number;
  };
  /** The namespaces for children. Other namespaces are neither watched nor changed. */
  runtimeNamespaces: readonly string[];
  /** The reconciled resource. Default: UserSwarms; tests use another kind */
  resource?: Resource;
  /** Resync period in seconds. */
  resyncS?: number;
  workers?: number;
  rollout?: RolloutLimits;
  /** Milliseconds after leader election before the first rollout grant. Default: 0 */
  rolloutInitialDelayMs?: number;
  /** Maximum number of runtimes that start concurrently; 0 disables the limit. */
  maxConcurrentStarts?: number;
  /** Without it, the controller leads immediately. Only for a single replica. */
  lease?: { namespace: string; name: string; durationS?: number; timing?: LeaderElectionTiming } | undefined;
  /** Pod name: the lease holder and the reporting instance in Events. */
  identity: string;
  eventsNamespace?: string;
  logger: Logger;
  registry?: Registry;
  clock?: Clock;
  timing?: InformerTiming;
  backoff?: Backoff;
}

/** The maximum bounds how late a condition shows that its cause is resolved. */
export const BACKOFF: Backoff = { initialMs: 200, maxMs: 10_000 };
export const RESYNC_S = 30;
export const WORKERS = 16;
export const HOOK_TIMEOUT_MS = 10_000;
export const ROLLOUT_LIMITS: RolloutLimits = { maxConcurrent: 5, deadlineS: 86_400, maxFailures: 3 };
export const MAX_CONCURRENT_STARTS = 100;
