import { describe, expect, it } from '@jest/globals';
import { budgetState, costText, type StoredBudget, warningText } from './budget.js';
import { limitNote } from './limit-note.js';
import type { LimitReached } from './usage-limits.js';

describe('the note about a limit', () => {
  const resets_at = '2026-12-01T00:00:00.000Z';
  it.each<[string, LimitReached]>([
    ['The token limit of your plan', { scope: 'user', token_limit: 10, resets_at }],
    ['The token limit of this workspace', { scope: 'workspace', token_limit: 10, resets_at }],
    [
      'The budget of this workspace ($2.50)',
      { scope: 'budget', cost_limit_micros: 2_500_000, currency: 'USD', resets_at },
    ],
    ['The budget of this workspace (10,000 tokens)', { scope: 'budget', token_limit: 10_000, resets_at }],
  ])('names it: %s', (named, limit) => {
    expect(limitNote(limit)).toBe(`${named} for this month is reached. It resets on 2026-12-01 (UTC).`);
  });
});

const NONE: StoredBudget = { monthly_cost_micros: null, monthly_tokens: null };
const COST: StoredBudget = { ...NONE, monthly_cost_micros: 1_000 };
const BOTH: StoredBudget = { monthly_cost_micros: 1_000, monthly_tokens: 100 };

describe('the state of a budget', () => {
  it.each([
    ['none', NONE, 1e9, 1e9],
    ['within', COST, 799, 1e9],
    ['warning', COST, 800, 0],
    ['warning', COST, 999, 0],
    ['reached', COST, 1_000, 0],
    ['within', BOTH, 799, 79],
    ['warning', BOTH, 0, 80],
    ['reached', BOTH, 0, 100],
    ['reached', BOTH, 1_000, 0],
  ] as const)('is %s with the limits %j, a cost of %d and %d tokens', (state, budget, cost, tokens) => {
    expect(budgetState({ cost, tokens }, budget)).toBe(state);
  });
});

describe('amounts of money', () => {
  it.each([
    [10_000_000, '$10.00'],
    [1_234_567_890, '$1,234.57'],
    [8_204_137, '$8.20'],
    [9_999, '$0.009999'],
    [0, '$0.00'],
  ])('are rounded to cents unless they are smaller: %d is %s', (micros, text) => {
    expect(costText(micros)).toBe(text);
  });
});

describe('the warning', () => {
  const resetsAt = new Date('2026-12-01T00:00:00Z');
  it('states the limit that is closer, in its unit', () => {
    expect(
      warningText({ cost: 8_250_000, tokens: 10 }, { monthly_cost_micros: 10_000_000, monthly_tokens: 100 }, resetsAt),
    ).toBe(
      'This workspace has used 82% of its budget for this month: $8.25 of $10.00. When the budget is reached, agents stop until 2026-12-01 (UTC).',
    );
    expect(
      warningText({ cost: 10, tokens: 90_000 }, { monthly_cost_micros: 100, monthly_tokens: 100_000 }, resetsAt),
    ).toContain('90% of its budget for this month: 90,000 of 100,000 tokens.');
  });
});
