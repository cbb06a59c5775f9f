import { NO_PUSH } from '../src/records/push-jobs.js';
import type { TurnWorkerDeps } from '../src/turns/worker.js';

/** For turns that need no tasks for other agents, workflow reports, summaries and notifications. */
export const ABSENT_FEATURES: Pick<
  TurnWorkerDeps,
  'delegations' | 'tasks' | 'queue' | 'reports' | 'summaries' | 'push'
> = {
  delegations: { isDelegationOpen: async () => false, findOpenDelegations: async () => [] },
  tasks: { ended: async () => undefined, cancel: async () => undefined },
  queue: { follow: async () => undefined },
  summaries: { findSummary: async () => undefined },
  reports: { promptFor: async () => undefined },
  push: NO_PUSH,
};
