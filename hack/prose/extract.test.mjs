import { describe, expect, it } from '@jest/globals';
import { extractProse } from './extract.mjs';

const words = (path, text) => extractProse(path, text).replace(/\s+/g, ' ').trim();

describe('the prose of a script', () => {
  it('is its comments and its strings of three words or more', () => {
    const text = "/** First of all. */\nconst key = 'a b'; // Second of all.\nthrow new Error('Third of all.');\n";
    expect(words('a.ts', text)).toBe("First of all. Second of all. 'Third of all.'");
  });

  it('has the text of templates around their expressions', () => {
    const text = 'const a = `one two three ${f({ a: `x` })} four five six`; // seven';
    expect(words('a.mjs', text)).toBe('one two three four five six // seven');
  });

  it('does not confuse a regular expression with a string or a comment', () => {
    expect(words('a.ts', 'const a = /[\'"`]\\/[/]/.test(b) / 2; // a comment here')).toBe('a comment here');
  });

  it('keeps the line numbers', () => {
    const text = "const a = 1;\n/*\n * Second\n */\nconst b = `\n`;\nlog('to be logged');\n";
    expect(extractProse('a.ts', text).split('\n')).toHaveLength(text.split('\n').length);
  });
});

describe('the prose of other files', () => {
  it('is everything except comment markers, code and links', () => {
    const text = '# A heading\n- uses `code` and [a link](docs/x.md)\n-- of https://example.com/at/once\n';
    expect(words('a.md', text)).toBe('A heading uses code and [a link] of URL');
  });
});
