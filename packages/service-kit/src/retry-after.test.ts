import { describe, expect, it } from '@jest/globals';
import { retryAfterOf } from './retry-after.js';

const NOW = Date.parse('2026-01-01T00:00:00Z');

describe('retryAfterOf', () => {
  it.each([
    ['seconds', { 'retry-after': '1.5' }, 1_500],
    ['milliseconds, which are more exact', { 'retry-after': '2', 'retry-after-ms': '1500' }, 1_500],
    ['a date', { 'retry-after': 'Thu, 01 Jan 2026 00:01:00 GMT' }, 60_000],
    ['a date in the past as no wait', { 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' }, 0],
    ['nothing from a header that it does not understand', { 'retry-after': 'soon' }, undefined],
    ['nothing from an empty header', { 'retry-after': ' ' }, undefined],
    ['nothing without a header', {}, undefined],
  ])('reads %s', (_, headers, wait) => {
    expect(retryAfterOf(headers, NOW)).toBe(wait);
  });
});
