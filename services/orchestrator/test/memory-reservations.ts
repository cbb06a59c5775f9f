import type { TurnBudgetDeps } from '../src/turns/writer/turn-budget.js';
import type { TurnTokens } from '../src/metering/turn-tokens.js';

/**
 * One turn's reservations in memory.
 *
 * @param recorded the steps that were reserved and released
 * @param left the rest of the budget. Default: some.
 */
export const createMemoryReservations = (
  recorded: { reservations: number[]; releases: number[] },
  left: () => TurnTokens['left'] = () => 'some',
): TurnBudgetDeps['reservations'] => {
  const tokens = () => {
    const now = left();
    return { used: now === 'some' ? 0 : 1_000, budget: 1_000, left: now };
  };
  return {
    findTurnTokens: async () => tokens(),
    findTokensBeforeStep: async (_db, _turnId, { step }) => ({
      ...tokens(),
      isRepeated: recorded.reservations.includes(step),
    }),
    insertReservation: async (_db, { step }) => void recorded.reservations.push(step),
    settleReservation: async () => undefined,
    releaseReservation: async (_db, { step }) => void recorded.releases.push(step),
  };
};
