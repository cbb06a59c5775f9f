import { describe, expect, it } from '@jest/globals';
import { requestedRange } from './byte-range.js';

describe('a Range header', () => {
  it.each([
    ['bytes=0-0', { start: 0, end: 0 }],
    ['bytes=2-5', { start: 2, end: 5 }],
    ['bytes=2-', { start: 2, end: 9 }],
    ['bytes=2-99', { start: 2, end: 9 }],
    ['bytes=-3', { start: 7, end: 9 }],
    ['bytes=-99', { start: 0, end: 9 }],
    [`bytes=2-${'9'.repeat(20)}`, { start: 2, end: 9 }],
    [`bytes=-${'9'.repeat(400)}`, { start: 0, end: 9 }],
    ['bytes=0000000000000000000002-5', { start: 2, end: 5 }],
    ['Bytes=1-2', { start: 1, end: 2 }],
  ])('%s selects a part of ten bytes', (header, part) => {
    expect(requestedRange(header, 10)).toEqual(part);
  });

  it.each([
    undefined,
    '',
    'bytes',
    'bytes=',
    'bytes=-',
    'bytes=a-b',
    'bytes=5-2',
    `bytes=${'1'.repeat(19)}2-${'1'.repeat(20)}`,
    'bytes=0-1,3-4',
    'lines=0-1',
  ])('%s selects the whole file', (header) => {
    expect(requestedRange(header, 10)).toBe('whole');
  });

  it.each([
    ['bytes=10-', 10],
    ['bytes=10-12', 10],
    ['bytes=-0', 10],
    [`bytes=${'9'.repeat(20)}-`, 10],
    [`bytes=${'9'.repeat(400)}-`, 10],
    [`bytes=${'1'.repeat(20)}-${'1'.repeat(19)}2`, 10],
    ['bytes=0-', 0],
    ['bytes=-5', 0],
  ])('%s is unsatisfiable for %d bytes', (header, size) => {
    expect(requestedRange(header, size)).toBe('unsatisfiable');
  });
});
