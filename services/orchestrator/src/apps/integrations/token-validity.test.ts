import { expect, it } from '@jest/globals';
import { validityOf } from './token-validity.js';

const NOW = new Date('2026-11-21T12:00:00Z');

it.each([
  [3_600, '2026-11-21T13:00:00.000Z', '2026-11-21T12:55:00.000Z'],
  [60, '2026-11-21T12:01:00.000Z', '2026-11-21T12:00:30.000Z'],
])('tokens with a lifetime of %d s expire at %s and are renewed at %s', (expiresInS, expiresAt, refreshAt) => {
  const validity = validityOf({ expiresInS, refreshToken: 'r' }, NOW);
  expect({ expiresAt: validity.expiresAt?.toISOString(), refreshAt: validity.refreshAt?.toISOString() }).toEqual({
    expiresAt,
    refreshAt,
  });
});

it('tokens without a refresh token expire and are not renewed', () => {
  expect(validityOf({ expiresInS: 60 }, NOW)).toEqual({ expiresAt: new Date(NOW.getTime() + 60_000), refreshAt: null });
});

it('tokens without a lifetime do not expire', () => {
  expect(validityOf({ expiresInS: undefined, refreshToken: 'r' }, NOW)).toEqual({ expiresAt: null, refreshAt: null });
});
