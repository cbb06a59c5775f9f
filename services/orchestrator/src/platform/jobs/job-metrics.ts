import { initializedCounter, type Registry } from '@uswarm/service-kit';

/** `again`: rescheduled by the handler; `failed`: the handler threw, and the job is retried. */
export type JobOutcome = 'done' | 'again' | 'failed';

export interface JobMetrics {
  handled(kind: string, outcome: JobOutcome): void;
  takenOver(kind: string): void;
}

export function createJobMetrics(registry: Registry, kinds: readonly string[]): JobMetrics {
  const handled = initializedCounter(registry, 'uswarm_jobs_handled_total', 'Total handled jobs by outcome.', {
    kind: kinds,
    outcome: ['done', 'again', 'failed'],
  });
  const takeovers = initializedCounter(
    registry,
    'uswarm_lease_takeovers_total',
    'Jobs claimed by this process after the lease of another holder expired.',
    { kind: kinds },
  );
  return {
    handled: (kind, outcome) => handled.inc({ kind, outcome }),
    takenOver: (kind) => takeovers.inc({ kind }),
  };
}
