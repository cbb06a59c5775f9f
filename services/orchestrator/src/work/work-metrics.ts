import { initializedCounter, type Registry } from '@uswarm/service-kit';

/** `again`: it is not done yet, as planned; `failed`: it ended in an error, and is tried again. */
export type WorkOutcome = 'done' | 'again' | 'failed';

/** What work queues count. */
export interface WorkMetrics {
  handled(kind: string, outcome: WorkOutcome): void;
  takenOver(kind: string): void;
}

/** @param kinds all that there are */
export function createWorkMetrics(registry: Registry, kinds: readonly string[]): WorkMetrics {
  const handled = initializedCounter(
    registry,
    'uswarm_work_handled_total',
    'Rows of background work handled, by how it went.',
    {
      kind: kinds,
      outcome: ['done', 'again', 'failed'],
    },
  );
  const takeovers = initializedCounter(
    registry,
    'uswarm_lease_takeovers_total',
    'Rows of background work whose holder let the lease run out, taken over by this process.',
    { kind: kinds },
  );
  return {
    handled: (kind, outcome) => handled.inc({ kind, outcome }),
    takenOver: (kind) => takeovers.inc({ kind }),
  };
}
