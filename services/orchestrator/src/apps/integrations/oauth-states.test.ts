import { describe, expect, it } from '@jest/globals';
import { createOAuthStates } from './oauth-states.js';

let now = new Date('2026-11-22T10:00:00Z');
const clock = { now: () => now };
const states = createOAuthStates({ secret: 'k'.repeat(32), clock });

describe('the state of an OAuth flow', () => {
  it('is valid on every replica for its user and its provider', () => {
    const replica = createOAuthStates({ secret: 'k'.repeat(32), clock });
    const state = states.issue('ada', 'gmail');
    expect(replica.verify(state, 'ada', 'gmail')).toMatchObject({ nonce: state.split('.')[0] });
  });

  it('is different for each flow', () => {
    expect(states.issue('ada', 'gmail')).not.toBe(states.issue('ada', 'gmail'));
  });

  it('is invalid for another user, for another provider and under another secret', () => {
    const state = states.issue('ada', 'gmail');
    const other = createOAuthStates({ secret: 'o'.repeat(32), clock });
    const seen = [
      states.verify(state, 'eve', 'gmail'),
      states.verify(state, 'ada', 'google_calendar'),
      other.verify(state, 'ada', 'gmail'),
    ];
    expect(seen).toEqual([undefined, undefined, undefined]);
  });

  it('is invalid if its expiry is changed, if it is truncated, or if it is invented', () => {
    const state = states.issue('ada', 'gmail');
    const [nonce, expiry, signature] = state.split('.');
    const later = `${nonce}.${Number(expiry) + 1}.${signature}`;
    for (const wrong of [later, state.slice(0, -1), '', 'made-up', `${nonce}.${expiry}.${'A'.repeat(43)}`]) {
      expect(states.verify(wrong, 'ada', 'gmail')).toBeUndefined();
    }
  });

  it('expires after 30 minutes', () => {
    const state = states.issue('ada', 'gmail');
    now = new Date(now.getTime() + 30 * 60_000 - 1);
    expect(states.verify(state, 'ada', 'gmail')).toBeDefined();
    now = new Date(now.getTime() + 1);
    expect(states.verify(state, 'ada', 'gmail')).toBeUndefined();
  });
});
