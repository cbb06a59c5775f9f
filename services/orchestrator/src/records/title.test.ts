import { describe, expect, it } from '@jest/globals';
import { requiredLine } from '../platform/http/visible-text.js';
import { titleOf } from './title.js';

describe('the title from a message', () => {
  it.each([
    ['a short text', 'Plan my trip', 'Plan my trip'],
    ['several lines', '  Plan\n\n my\ttrip ', 'Plan my trip'],
    ['a long text, which is cut after a word', `${'word '.repeat(30)}`, `${'word '.repeat(11)}word…`],
    ['one long word', 'x'.repeat(100), `${'x'.repeat(60)}…`],
    ['a script without spaces', '我'.repeat(80), `${'我'.repeat(60)}…`],
    ['emoji of several code points, which are not cut', '👩‍👩‍👧‍👦'.repeat(61), `${'👩‍👩‍👧‍👦'.repeat(60)}…`],
    ['characters that reorder the text', 'a\u202Eb\u0007c', 'abc'],
    ['an empty text', '', undefined],
    ['invisible text', ' \u200b\n', undefined],
  ])('is derived from %s', (_what, text, title) => {
    expect(titleOf(text)).toBe(title);
  });
});

describe('a title that a client sends', () => {
  it('has no line breaks, control characters or bidirectional characters', () => {
    expect(requiredLine('title', ' My\u202E\u0000  \n plans ')).toBe('My plans');
  });

  it.each([' ', '\u200b', '\u0000\n'])('is rejected if it has no visible characters: %j', (sent) => {
    expect(() => requiredLine('title', sent)).toThrow(expect.objectContaining({ code: 'validation_failed' }));
  });
});
