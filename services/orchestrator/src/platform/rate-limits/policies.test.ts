import { describe, expect, it } from '@jest/globals';
import { LIMITS } from '@uswarm/contract';
import { policiesOf, type RateSettings, triggerPoliciesOf } from './policies.js';

const settings: RateSettings = {
  RATE_IP_PER_S: LIMITS.rates.ip.perSecond,
  RATE_IP_BURST: LIMITS.rates.ip.burst,
  RATE_USER_PER_S: LIMITS.rates.user.perSecond,
  RATE_USER_BURST: LIMITS.rates.user.burst,
  RATE_SENDS_PER_S: LIMITS.rates.sends.perSecond,
  RATE_SENDS_BURST: LIMITS.rates.sends.burst,
  RATE_SEARCH_PER_S: LIMITS.rates.search.perSecond,
  RATE_SEARCH_BURST: LIMITS.rates.search.burst,
  RATE_TRIGGERS_PER_S: LIMITS.rates.triggers.perSecond,
  RATE_TRIGGERS_BURST: LIMITS.rates.triggers.burst,
};

describe('rate policies', () => {
  it('have the documented defaults', () => {
    expect(policiesOf(settings)).toEqual([
      { name: 'ip', burst: 300, windowS: 3 },
      { name: 'user', burst: 60, windowS: 3 },
      { name: 'sends', burst: 20, windowS: 4 },
      { name: 'search', burst: 20, windowS: 10 },
    ]);
    expect(triggerPoliciesOf(settings)).toEqual([
      { name: 'trigger', burst: 60, windowS: 60 },
      { name: 'triggers', burst: 240, windowS: 60 },
    ]);
  });

  it('are disabled at 0 requests per second', () => {
    const policies = policiesOf({ ...settings, RATE_USER_PER_S: 0 });
    expect(policies.map(({ name }) => name)).toEqual(['ip', 'sends', 'search']);
    expect(triggerPoliciesOf({ ...settings, RATE_TRIGGERS_PER_S: 0 })).toEqual([]);
  });

  it.each([
    [20, 50],
    [20, 10],
  ])('reject a rate of %d per second with a burst of %d', (perSecond, burst) => {
    expect(() => policiesOf({ ...settings, RATE_SENDS_PER_S: perSecond, RATE_SENDS_BURST: burst })).toThrow(
      'RATE_SENDS_BURST is not a multiple of RATE_SENDS_PER_S',
    );
  });
});
