import { describe, expect, it } from '@jest/globals';
import { durationText } from '../screen/duration-text.js';
import { costText, tokensText } from './labels.js';

describe('the texts of a time line', () => {
  it.each([
    [0, '0 s'],
    [430, '0.4 s'],
    [9_960, '10 s'],
    [12_400, '12 s'],
    [59_700, '1 min'],
    [185_000, '3 min 5 s'],
    [3_600_000, '1 h'],
    [3_720_000, '1 h 2 min'],
  ])('%i milliseconds are “%s”', (ms, text) => {
    expect(durationText(ms)).toBe(text);
  });

  it.each([
    [0, '$0'],
    [40, 'less than $0.0001'],
    [310, '$0.0003'],
    [1_234_567, '$1.2346'],
  ])('%i millionths of a dollar are “%s”', (micros, text) => {
    expect(costText(micros)).toBe(text);
  });

  it('group the digits of tokens', () => {
    expect(tokensText(12_345)).toBe('12,345 tokens');
  });
});
