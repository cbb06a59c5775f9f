import { initializedCounter, type Registry } from '@uswarm/service-kit';
import { Histogram } from 'prom-client';

/** `event`: the platform reported a change; `resync`: a comparison of everything found it. */
export type DifferenceFound = 'event' | 'resync';

/** What the lifecycle counts. */
export interface RuntimeMetrics {
  suspended(): void;
  /** Suspended for a moment, for a new revision of the platform. */
  suspendedForRollout(): void;
  woken(): void;
  /** It could not be brought to what is wanted. */
  ensureFailed(reason: 'unreachable' | 'refused'): void;
  /** What the platform has differed from what is stored. */
  differed(found: DifferenceFound, runtimes: number): void;
  /** `first` after the workspace was made, else after a suspension. */
  ready(start: 'first' | 'wake', seconds: number): void;
}

export function createRuntimeMetrics(registry: Registry): RuntimeMetrics {
  const suspensions = initializedCounter(
    registry,
    'uswarm_runtime_suspensions_total',
    'Runtimes suspended because they were idle.',
    {},
  );
  const rollouts = initializedCounter(
    registry,
    'uswarm_runtime_rollouts_total',
    'Idle runtimes suspended for a moment, so that a new revision could take their place.',
    {},
  );
  const wakes = initializedCounter(
    registry,
    'uswarm_runtime_wakes_total',
    'Suspended runtimes woken by a message.',
    {},
  );
  const failures = initializedCounter(
    registry,
    'uswarm_runtime_ensure_failures_total',
    'Looks at a runtime in which the platform could not be asked, or refused what was wanted.',
    { reason: ['unreachable', 'refused'] },
  );
  const differences = initializedCounter(
    registry,
    'uswarm_runtime_differences_total',
    'Runtimes whose state on the platform differed from what is stored, by how that was found.',
    { found: ['event', 'resync'] },
  );
  const timeToReady = new Histogram({
    name: 'uswarm_runtime_time_to_ready_seconds',
    help: 'Time from the wish for a running runtime to its first answer; after a sign-up or a suspension.',
    labelNames: ['start'],
    buckets: [0.5, 1, 2, 3, 5, 10, 20, 30, 60, 120, 300],
    registers: [registry],
  });
  for (const start of ['first', 'wake']) timeToReady.zero({ start });
  return {
    suspended: () => suspensions.inc(),
    suspendedForRollout: () => rollouts.inc(),
    woken: () => wakes.inc(),
    ensureFailed: (reason) => failures.inc({ reason }),
    differed: (found, runtimes) => differences.inc({ found }, runtimes),
    ready: (start, seconds) => timeToReady.observe({ start }, seconds),
  };
}
