import type { TurnRunnerDeps } from '../src/features/turns/turn-runner.js';

/** What a turn needs to give tasks to other agents. There are none. */
export const WITHOUT_TASKS: Pick<TurnRunnerDeps, 'delegations' | 'tasks' | 'queue' | 'reports'> = {
  delegations: { isOpen: async () => false, openOf: async () => [] },
  tasks: { ended: async () => undefined, cancel: async () => undefined },
  queue: { handOver: async () => undefined },
  reports: { promptFor: async () => undefined },
};
