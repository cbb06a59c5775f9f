import type { TurnWorkerDeps } from '../src/turns/worker.js';

const LIMIT = { scope: 'user', token_limit: 10, resets_at: '2026-12-01T00:00:00.000Z' } as const;
const BUDGET = { tokens: 1_000 };

/** `limited` returns true if a limit is reached, `reserved` if other turns have reserved the rest. */
export const createMemoryLimits = ({
  limited = () => false,
  reserved = () => false,
}: {
  limited?: (() => boolean) | undefined;
  reserved?: (() => boolean) | undefined;
}): TurnWorkerDeps['limits'] => ({
  async reserve() {
    if (limited()) return LIMIT;
    return reserved() ? undefined : BUDGET;
  },
  turnBudget: async () => BUDGET,
  reached: async () => (limited() ? LIMIT : undefined),
});
