import { describe, expect, it } from '@jest/globals';
import { byTier } from '@uswarm/testkit/tier';
import fc from 'fast-check';
import { micromark } from 'micromark';
import { gfm, gfmHtml } from 'micromark-extension-gfm';
import { type DefaultTreeAdapterTypes, parseFragment } from 'parse5';
import { htmlDocument, markdownDocument, OWN } from '../../../test/markdown-documents.js';
import { createSafeMarkdown } from './reply-text.js';

const markdown = createSafeMarkdown(OWN);
const safe = (text: string): string => markdown.text(text);

describe('HTML in Markdown of an agent', () => {
  it.each([
    'Use Map<K,V>; a<b',
    'vec![1]; vec![a[0], b]; a![0] + ![1, 2].includes(b); vec![\n1,\n];',
    'std::vector<std::string> a; std::map<std::string, std::vector<int>> b; vector<int>::iterator c;',
    'Use Map<String, List<Integer>> or Dictionary<string, object>; vec![1]; Vec<Box<dyn Fn()>>',
    'Promise<Object>, std::vector<std::pair<int, T*>>, Result<(), Error>, List<?>, Class<? extends Shape>',
    'template <typename T, class U = int> struct A : B<T, U> {};',
    'function f<T extends keyof U>(a: T): Record<string, T> {}',
    'if (a<b && c>d || e<=f) return x<y;',
    '0<a<b<1 and for (i=0;i<n;i++) s+=x[i]; x<-y; x<<1; x<!y; i<n; one = 1',
    'I <3 you </3 >_< <_< <- <= <> </> <o/ <:)',
    "cat <file >out; cat <<EOF; cat <<-'END'; sort <input.txt | uniq; diff <(a) <(b)",
    'Mail <a@b.c>, see <https://example.com/a?b=c>, or <mailto:a@b.c>',
    'p<0.05, n<N, $x<y$, \\(a<b\\), a\u00a0<b, x<y\n\nand more',
    'AT&T, a&b, a&&b, &copy in https://example.com/?a=1&copy=2, &nosuch;, R&D;',
    'return <Foo bar>text</Foo>; const a = <T,>(x: T) => x; <></>',
    'postgres://app:secret@localhost/app, redis://:pw@h:6379, git+ssh://git@example.com/a.git, git@example.com:a.git',
    'An arrow --> and <-- and <!=> and <!> and <?>',
    'The code `<img src="https://example.com/a.png">` shows an image, `<a href="/x">` a link.',
    '- `<script src="//example.com/a.js"></script>` in a list, ``a ` <img src="/x">``',
    'A list:\n\n1. Do this:\n\n   ```html\n   <img src="https://example.com/a.png">\n\n   <!-- a -->\n   ```\n\n2. Then that.',
    '- a\n  - b\n\n    ```js\n    a<b\n    ```\n\nThen:\n\n```html\n<img src="https://example.com/a.png">\n```\n',
    '````md\n```html\n<img src="https://example.com/a.png">\n```\n````\n',
    '~~~xml\n<?xml version="1.0"?>\n<a href="https://example.com"/>\n~~~',
  ])('is what the agent wrote if no reader can take a part for a tag: %j', (text) => {
    expect(safe(text)).toBe(text);
  });

  it('is not changed by a comparison in a long text', () => {
    const text = `If a<b, then ${'the loop goes on and on, '.repeat(100)} and c>d.`;
    expect(safe(text)).toBe(text);
  });

  it.each([
    ['an attribute that runs code', '<b onclick=x>', '< b onclick=x>'],
    ['a tag that never closes', '<img src=x onerror=alert(1)', '< img src=x onerror=alert(1)'],
    ['an open tag that begins a line', 'a\n<div class=b', 'a\n< div class=b'],
    ['an open tag in a list', '- <div', '- < div'],
    ['an open quote', 'a <b title="', 'a < b title="'],
    ['a comment that never ends', 'a <!-- b', 'a < !-- b'],
    ['an instruction that begins a line', '<? a', '< ? a'],
    ['an attribute after the end of what CommonMark reads', '<img ,src=//evil.com>', '<img ,s rc=//evil.com>'],
    ['a slash in place of a space', '<svg/onload=x>', '< svg/onload=x>'],
    ['a slash before an attribute', '<img/src=//evil.com>', '<img/s rc=//evil.com>'],
    ['an end in an open tag', 'x<y</onerror=a>', 'x<y</o nerror=a>'],
    ['an attribute after many words', `<b ,${' a'.repeat(600)} onclick=x>`, `<b ,${' a'.repeat(600)} o nclick=x>`],
    ['an attribute after a quoted bracket', '<b, c=">" onclick=x>', '<b, c=">" o nclick=x>'],
    ['an address with an attribute', '<https://evil.com/ onclick=x>', '<https://evil.com/ o nclick=x>'],
    ['text that is displayed in reverse', '<bdo dir=rtl>moc.knab</bdo>', '< bdo dir=rtl>moc.knab< /bdo>'],
    [
      'the end of a block of code with spaces',
      '```\na\n  ```\n<img src=//evil.com>',
      '```\na\n  ```\n< img src=//evil.com>',
    ],
    [
      'a fence that is none',
      `\`\`\`${'a'.repeat(300)}\`\n<img src=//evil.com>`,
      `\`\`\`${'a'.repeat(300)}\`\n< img src=//evil.com>`,
    ],
    ['a fence in HTML', '<div>\n```\n<img src=//evil.com>', '<div>\n```\n< img src=//evil.com>'],
    [
      'a fence that closes one with a space',
      ' ```\na\n```\n<img src=//evil.com>',
      ' ```\na\n```\n< img src=//evil.com>',
    ],
    [
      'the end of a fence in a list',
      '- ```\n  a\n  ```\n  <img src=//evil.com>',
      '- ```\n  a\n  ```\n  < img src=//evil.com>',
    ],
    ['a span without an end', 'a `<img src=//evil.com>', 'a `< img src=//evil.com>'],
    ['a span that has ended', '`a`<img src=//evil.com>`b`', '`a`< img src=//evil.com>`b`'],
    ['a span after an escape', '\\`<img src=//evil.com>`', '\\`< img src=//evil.com>`'],
    ['a span that begins in the line before', '`a\n`<img src=//evil.com>`', '`a\n`< img src=//evil.com>`'],
    ['a span in HTML', '<div>\n`<img src=//evil.com>`', '<div>\n`< img src=//evil.com>`'],
    ['a span across cells', 'a|b\n-|-\n`a|<img src=//evil.com>|b`', 'a|b\n-|-\n`a|< img src=//evil.com>|b`'],
    ['a span in an address', 'http://a.b/`<img src=//evil.com>`', 'http://a.b/`< img src=//evil.com>`'],
    ['a span in an instruction', 'a <?>\n`<img src=//evil.com>` ?>', 'a <?>\n`< img src=//evil.com>` ?>'],
    ['a link that runs code', '<javascript:alert(1)>', '< javascript:alert(1)>'],
    ['an image with marks in its text', '![a\\]`b`](https://evil.com)', '![a\\]`b`] (https://evil.com)'],
    ['an image with brackets', '![a [b] c](https://evil.com)', '![a [b] c] (https://evil.com)'],
    ['an open tag in a link', '[bank.com <b, a](https://evil.com)', '[bank.com <b, a] (https://evil.com)'],
  ])('has no tag with effects for any reader: %s', (_what, text, expected) => {
    expect(safe(text)).toBe(expected);
  });
});

/** Elements that load, run or hide something without attributes. */
const ELEMENTS = new Set(
  'script style svg math template noscript textarea title xmp plaintext noembed noframes iframe select details dialog head bdo video audio canvas datalist frameset form base embed'.split(
    ' ',
  ),
);
const EFFECTS =
  /^(?:on.*|style|hidden|srcset|srcdoc|action|formaction|data|background|ping|poster|xlink:href|http-equiv|is|popover)$/;

/** Lists forbidden elements and attributes in the tree that a browser builds. */
function effects(html: string): string[] {
  const found: string[] = [];
  const visit = (node: DefaultTreeAdapterTypes.ChildNode | DefaultTreeAdapterTypes.DocumentFragment): void => {
    if ('attrs' in node) {
      if (ELEMENTS.has(node.tagName)) found.push(node.tagName);
      for (const { name, value } of node.attrs) {
        if (EFFECTS.test(name)) found.push(`${node.tagName} ${name}`);
        const isForeign = /^\s*(?:[a-z][a-z0-9+.-]*:|[/\\]{2})/i.test(value) && !value.startsWith(`${OWN}/v1/`);
        if (name === 'src' && isForeign) found.push(`${node.tagName} src ${value}`);
        if (name === 'href' && /^\s*(?!https?:|mailto:)[a-z][a-z0-9+.-]*:/i.test(value)) found.push(`href ${value}`);
      }
    }
    if ('childNodes' in node) node.childNodes.forEach(visit);
  };
  visit(parseFragment(html));
  return found;
}

/** CommonMark output with raw HTML left as it is. */
const commonMark = (text: string): string =>
  micromark(text, { allowDangerousHtml: true, allowDangerousProtocol: true });
const github = (text: string): string =>
  micromark(text, {
    allowDangerousHtml: true,
    allowDangerousProtocol: true,
    extensions: [gfm()],
    htmlExtensions: [gfmHtml()],
  });

/** Simple readers know code and pass everything else on. */
const withoutCode = (text: string): string => (/[`~]/.test(text) ? '' : text);

describe('any Markdown with HTML', () => {
  it.each([
    ['by CommonMark', commonMark],
    ['on GitHub', github],
    ['for a reader that passes HTML on', withoutCode],
  ])('invariant 11: has no element, attribute or address with effects %s', (_reader, render) => {
    fc.assert(
      fc.property(fc.oneof(htmlDocument, markdownDocument), (text) => {
        expect(effects(render(safe(text)))).toEqual([]);
      }),
      { numRuns: byTier({ core: 3_000, all: 30_000 }) },
    );
  });

  it('is what the agent wrote if it has no tag, link, image, address or entity', () => {
    const words = fc.constantFrom(
      'a<b',
      'Map<K,V>',
      'x < y',
      '<3',
      '<-',
      '<=',
      'i<n;',
      'List<String>',
      '>',
      '"',
      "'",
      '=',
      '(',
      ')',
      '{',
      '}',
      '&',
      '&&',
      'AT&T',
      ',',
      '.',
      '\n',
      '\n\n',
      ' ',
      'word',
      '_',
      '*',
      '#',
      '`a`',
      '- ',
      '1. ',
      '$',
      '|',
      'é',
      '😀',
    );
    fc.assert(
      fc.property(fc.array(words, { maxLength: 40 }), (parts) => {
        const text = parts.join(' ');
        // With a later `>`, `a<b` can begin a tag whose attributes are the words between.
        fc.pre(!commonMark(text).includes('<b '));
        expect(safe(text)).toBe(text);
      }),
      { numRuns: 1_500 },
    );
  });
});
