import { describe, expect, it } from '@jest/globals';
import { isBlank } from './visible-text.js';

describe('a blank text', () => {
  it.each([
    '',
    ' ',
    '\n\t\r\n',
    '\u00A0\u2003',
    '\u200B\u200D\uFEFF',
    '\u2060\u00AD',
    '\u3164',
    '\u2800',
    '\uFE0F',
    '\u0000',
  ])('has nothing that a user sees: %j', (text) => {
    expect(isBlank(text)).toBe(true);
  });

  it.each(['a', ' .', '0', '—', '😀', '\u200Ba', '한'])('has no visible character: %j', (text) => {
    expect(isBlank(text)).toBe(false);
  });
});
