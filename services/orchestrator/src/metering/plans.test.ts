import { describe, expect, it } from '@jest/globals';
import { loadPlans } from '../platform/core/catalog.js';
import { createPlans } from './plans.js';

const NOW = new Date('2026-11-21T10:00:00Z');
const plans = createPlans(loadPlans());

describe('the plan of a user', () => {
  it.each([
    ['is the stored plan', 'pro', null, 'pro', null],
    [
      'is the stored plan until it expires',
      'pro',
      new Date('2026-11-21T10:00:00.001Z'),
      'pro',
      '2026-11-21T10:00:00.001Z',
    ],
    ['is the default plan after it expired', 'pro', NOW, 'free', null],
    ['is the default plan if the stored plan no longer exists', 'vintage', null, 'free', null],
  ])('%s', (_what, plan_code, plan_expires_at, code, ends) => {
    const { plan, expiresAt } = plans.of({ plan_code, plan_expires_at }, NOW);
    expect({ code: plan.code, expiresAt: expiresAt?.toISOString() ?? null }).toEqual({ code, expiresAt: ends });
  });
});

it('rejects a configuration without the default plan', () => {
  expect(() => createPlans(loadPlans().filter(({ code }) => code !== 'free'))).toThrow(
    'must include the default plan "free"',
  );
});
