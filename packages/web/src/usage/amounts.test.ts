import { describe, expect, it } from '@jest/globals';
import { costOf, daysOf, metersOf, money, monthsUntil } from './amounts.js';

const amount = {
  model_calls: 1,
  prompt_tokens: 1,
  cached_tokens: 0,
  completion_tokens: 1,
  reasoning_tokens: 0,
  cost_micros: 10_000,
  unpriced_tokens: 0,
};
const budget = {
  period: '2026-11',
  monthly_cost_micros: 10_000_000,
  monthly_tokens: null,
  currency: 'USD',
  cost_micros_used: 8_000_000,
  tokens_used: 100,
  state: 'warning',
  resets_at: '2026-12-01T00:00:00Z',
} as const;

describe('an amount of money', () => {
  it.each([
    [0, '$0.00'],
    [12_340_000, '$12.34'],
    [20_000, '$0.020'],
    [420, '$0.0004'],
    [3, '< $0.0001'],
  ])('%i micros are shown as %s', (micros, text) => expect(money(micros, 'USD')).toBe(text));
});

describe('the cost of calls', () => {
  it('is a lower bound if some have no price, and unknown if none has one', () => {
    expect(costOf(amount, 'USD')).toEqual({ text: '$0.010', isWhole: true });
    expect(costOf({ ...amount, unpriced_tokens: 5 }, 'USD')).toEqual({ text: '≥ $0.010', isWhole: false });
    expect(costOf({ ...amount, cost_micros: null }, 'USD')).toBeUndefined();
  });
});

describe('the meters of a workspace', () => {
  it('show each limit that exists, near it from 80 % on', () => {
    const meters = metersOf(budget, { tokens_used: 50, token_limit: 100 });
    expect(meters).toMatchObject([
      { label: 'Budget', state: 'near', text: '$8.00 of $10.00', left: '$2.00 left' },
      { label: 'Plan', state: 'within', left: '50 tokens left' },
    ]);
  });

  it.each([
    [7_999_999, 'within', '$2.00 left'],
    [9_990_000, 'near', '$0.010 left'],
    [10_000_000, 'over', '$0.00 left'],
    [11_000_000, 'over', '$1.00 over'],
  ])('tell with %i micros of 10 dollars that the use is %s, with %s', (used, state, left) => {
    expect(metersOf({ ...budget, cost_micros_used: used }, undefined)).toMatchObject([{ state, left }]);
  });

  it('are none without a limit', () => {
    expect(metersOf({ ...budget, monthly_cost_micros: null }, { tokens_used: 1, token_limit: 0 })).toEqual([]);
  });
});

describe('a month', () => {
  it('has all of its days', () => {
    expect(daysOf('2028-02')).toEqual({ from: '2028-02-01', to: '2028-02-29' });
  });

  it('follows the one before, also over a year', () => {
    expect(monthsUntil(new Date('2026-02-28T23:00:00Z'), 3)).toEqual(['2026-02', '2026-01', '2025-12']);
  });
});
