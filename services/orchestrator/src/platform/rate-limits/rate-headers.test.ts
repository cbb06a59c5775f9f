import { describe, expect, it } from '@jest/globals';
import { exhaustedField, policyField, quotaField } from './rate-headers.js';

const ip = { name: 'ip', burst: 300, windowS: 3 } as const;
const user = { name: 'user', burst: 60, windowS: 3 } as const;

describe('rate limit headers', () => {
  it('name each policy with its quota and window', () => {
    expect(policyField([ip, user])).toBe('"ip";q=300;w=3, "user";q=60;w=3');
  });

  it('contain the remaining quota and the time until it is full again in whole seconds', () => {
    expect(quotaField({ policy: user, allowed: true, remaining: 59, resetMs: 2_001 })).toBe('"user";r=59;t=3');
  });

  it('report an exhausted quota', () => {
    expect(exhaustedField('sends', 400)).toBe('"sends";r=0;t=1');
  });
});
