import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { fit, oneLine, printable, visibleLines, wantsColour } from './terminal-text.js';

describe('the terminal output', () => {
  it('contains no control characters except tabs and line breaks', () => {
    expect(printable('a\u001b[31mb\u0007\u009bc\r\n\td')).toBe('a[31mbc\n\td');
  });

  it('has titles in one line, and texts of cards without characters that reorder text', () => {
    expect(oneLine(' a\r\n\tb\u001b[2J\u202ec ')).toBe('a b[2Jc');
    expect(visibleLines('a\u202e\nb\u001b[2J')).toEqual(['a', 'b[2J']);
  });

  it('never has control characters in one line', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(oneLine(text)).not.toMatch(/[\p{Cc}\p{Cf}]/u);
        expect(oneLine(text).isWellFormed()).toBe(true);
      }),
    );
  });

  it.each([
    ['short', 10, 'short'],
    ['exact', 5, 'exact'],
    ['longer', 5, 'long…'],
    ['茶茶茶', 6, '茶茶茶'],
    ['茶茶茶', 5, '茶茶…'],
    ['🍵🍵🍵', 4, '🍵…'],
    ['e\u0301e\u0301', 2, 'e\u0301e\u0301'],
    ['abc', 1, '…'],
  ])('cuts a line at the width of the terminal: %j at %i', (text, columns, expected) => {
    expect(fit(text, columns)).toBe(expected);
  });

  it.each([
    [{ isTTY: true }, {}, true],
    [{ isTTY: true }, { NO_COLOR: '' }, true],
    [{ isTTY: true }, { NO_COLOR: '1' }, false],
    [{}, {}, false],
  ])('is coloured only on a terminal without NO_COLOR: %j %j', (stream, env, expected) => {
    expect(wantsColour(stream, env)).toBe(expected);
  });
});
