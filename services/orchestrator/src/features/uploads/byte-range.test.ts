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
    ['Bytes=1-2', { start: 1, end: 2 }],
  ])('%s selects a part of ten bytes', (header, part) => {
    expect(requestedRange(header, 10)).toEqual(part);
  });

  it.each([undefined, '', 'bytes', 'bytes=', 'bytes=-', 'bytes=a-b', 'bytes=5-2', 'bytes=0-1,3-4', 'lines=0-1'])(
    '%s selects the whole file',
    (header) => {
      expect(requestedRange(header, 10)).toBe('whole');
    },
  );

  it.each([
    ['bytes=10-', 10],
    ['bytes=10-12', 10],
    ['bytes=-0', 10],
    ['bytes=0-', 0],
    ['bytes=-5', 0],
  ])('%s is unsatisfiable for %d bytes', (header, size) => {
    expect(requestedRange(header, size)).toBe('unsatisfiable');
  });
});
