import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { HistoryBudget, type HistoryOwner } from './history-budget.js';

const LIMIT = 100;

class Owner implements HistoryOwner {
  historyBytes = 0;
  dropHistory(): void {
    this.historyBytes = 0;
  }
}

it('the budget of all hubs drops the history that was used least recently, and never exceeds its limit', () => {
  const uses = fc.array(fc.record({ index: fc.nat(9), bytes: fc.nat(60) }), { maxLength: 100 });
  fc.assert(
    fc.property(uses, (steps) => {
      const budget = new HistoryBudget(LIMIT);
      const owners = Array.from({ length: 10 }, () => new Owner());
      /** Bytes by owner, the one used last at the end. */
      let expected: { index: number; bytes: number }[] = [];
      for (const step of steps) {
        const owner = owners[step.index];
        if (owner === undefined) continue;
        owner.historyBytes = step.bytes;
        budget.used(owner);
        expected = [...expected.filter(({ index }) => index !== step.index), step];
        while (expected.reduce((sum, { bytes }) => sum + bytes, 0) > LIMIT) expected.shift();
        const kept = Object.fromEntries(expected.map(({ index, bytes }) => [index, bytes]));
        expect(owners.map(({ historyBytes }) => historyBytes)).toEqual(owners.map((_, index) => kept[index] ?? 0));
        expect(budget.bytes).toBe(expected.reduce((sum, { bytes }) => sum + bytes, 0));
      }
      for (const owner of owners) budget.remove(owner);
      expect(budget.bytes).toBe(0);
    }),
  );
});
