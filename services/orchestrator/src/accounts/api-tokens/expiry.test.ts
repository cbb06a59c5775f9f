import { describe, expect, it } from '@jest/globals';
import { ApiError } from '@uswarm/contract';
import { expiryOf } from './expiry.js';

const NOW = new Date('2026-11-20T08:30:00.000Z');
const DAYS = { initial: 90, maximum: 366 };
const expiry = (stated: string | null) => expiryOf(stated, NOW, DAYS).toISOString();

function messageOf(stated: string): unknown {
  try {
    return expiry(stated);
  } catch (error) {
    return error instanceof ApiError ? error.extra['fields'] : error;
  }
}

describe('expiryOf', () => {
  it('is the default number of days from now without a stated time', () => {
    expect(expiry(null)).toBe('2027-02-18T08:30:00.000Z');
  });

  it('is the stated time, up to the maximum', () => {
    expect([expiry('2026-11-20T09:30:00.001+01:00'), expiry('2027-11-21T08:30:00Z')]).toEqual([
      '2026-11-20T08:30:00.001Z',
      '2027-11-21T08:30:00.000Z',
    ]);
  });

  it('refuses a time that has passed', () => {
    expect(messageOf('2026-11-20T08:30:00Z')).toEqual([{ path: 'expires_at', message: 'must be in the future' }]);
  });

  it('refuses a time after the maximum, and names the maximum', () => {
    expect(messageOf('2027-11-21T08:30:00.001Z')).toEqual([{ path: 'expires_at', message: 'must be within 366 days' }]);
  });
});
