import { initializedCounter, type Registry } from '@uswarm/service-kit';
import { Histogram } from 'prom-client';

/** `event`: the platform reported the change; `resync`: a periodic comparison found it. */
export type DifferenceFound = 'event' | 'resync';

export interface RuntimeMetrics {
  suspended(): void;
  suspendedForRollout(): void;
  resumed(): void;
  /** The desired state could not be applied on the platform. */
  ensureFailed(reason: 'unreachable' | 'refused'): void;
  differed(found: DifferenceFound, runtimes: number): void;
  /** `first`: the workspace's first start; `resume`: after a suspension. */
  ready(start: 'first' | 'resume', seconds: number): void;
}

export function createRuntimeMetrics(registry: Registry): RuntimeMetrics {
  const suspensions = initializedCounter(
    registry,
    'uswarm_runtime_suspensions_total',
    'Total suspensions of idle runtimes.',
    {},
  );
  const rollouts = initializedCounter(
    registry,
    'uswarm_runtime_rollouts_total',
    'Total suspensions of idle runtimes for a rollout.',
    {},
  );
  const resumes = initializedCounter(
    registry,
    'uswarm_runtime_resumes_total',
    'Total resumes of suspended runtimes by a message.',
    {},
  );
  const failures = initializedCounter(
    registry,
    'uswarm_runtime_ensure_failures_total',
    'Total failures to apply the desired state of a runtime, by reason.',
    { reason: ['unreachable', 'refused'] },
  );
  const differences = initializedCounter(
    registry,
    'uswarm_runtime_differences_total',
    'Total runtimes whose observed state differed from the stored state, by how that was found.',
    { found: ['event', 'resync'] },
  );
  const timeToReady = new Histogram({
    name: 'uswarm_runtime_time_to_ready_seconds',
    help: 'Time from the request for a running runtime to its first response, by kind of start.',
    labelNames: ['start'],
    buckets: [0.5, 1, 2, 3, 5, 10, 20, 30, 60, 120, 300],
    registers: [registry],
  });
  for (const start of ['first', 'resume']) timeToReady.zero({ start });
  return {
    suspended: () => suspensions.inc(),
    suspendedForRollout: () => rollouts.inc(),
    resumed: () => resumes.inc(),
    ensureFailed: (reason) => failures.inc({ reason }),
    differed: (found, runtimes) => differences.inc({ found }, runtimes),
    ready: (start, seconds) => timeToReady.observe({ start }, seconds),
  };
}
