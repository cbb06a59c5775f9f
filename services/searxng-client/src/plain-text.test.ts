import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { plainText } from './plain-text.js';

describe('plainText', () => {
  it.each([
    ['a named entity', 'Tom &amp; Jerry', 'Tom & Jerry'],
    ['a quotation mark', '&quot;Tea&quot; &laquo;Th&eacute;&raquo;', '"Tea" «Thé»'],
    ['a decimal number', 'It&#39;s', "It's"],
    ['a hexadecimal number', 'It&#x27;s &#X2026;', "It's …"],
    ['a number of Windows', '&#150;', '–'],
    ['a number without a semicolon', 'It&#39s, &#x2019 and', "It's, ’ and"],
    ['a character beyond the first plane', '&#128512;', '😀'],
    ['a number without a character', '&#xD800;&#0;', '\ufffd\ufffd'],
    ['an ampersand without a semicolon', 'Tom &amp Jerry &quot', 'Tom & Jerry "'],
    ['an entity that was encoded twice', 'Tom &amp;amp; Jerry&amp;#39;s', "Tom & Jerry's"],
    ['an entity that was encoded three times', 'Tom &amp;amp;amp; Jerry', 'Tom & Jerry'],
  ])('decodes %s', (_, html, text) => {
    expect(plainText(html)).toBe(text);
  });

  it.each([
    ['a highlight', 'the <b>green</b> tea', 'the green tea'],
    ['a highlight with a class', '<span class="searchmatch">green</span> <em class=hit>tea</em>', 'green tea'],
    ['nested highlights', '<strong>green <em>tea</em></strong>', 'green tea'],
    ['equal nested highlights', '<b>green <b>tea</b></b>', 'green tea'],
    ['capital letters', '<B>green</B> tea', 'green tea'],
    ['a highlight that was encoded', '&lt;b&gt;green&lt;/b&gt; tea', 'green tea'],
    ['a highlight that was encoded twice', '&amp;lt;em&amp;gt;green&amp;lt;/em&amp;gt; tea', 'green tea'],
    ['a link', 'see <a href="https://example.com/?a=1">the page</a>', 'see the page'],
    ['a highlight without its end', 'the <b>green te…', 'the green te…'],
    ['a highlight without its begin', '…een tea</b> is', '…een tea is'],
    ['a highlight with private characters', 'the \uE000green\uE001 tea', 'the green tea'],
    ['a section of XML', '<![CDATA[green &amp; <b>tea</b>]]>', 'green & tea'],
    ['a comment', 'green <!-- ad -->tea', 'green tea'],
    ['an image', '<img src="leaf.png" alt="leaf">tea', 'tea'],
    ['a label', '<label for="t">tea</label>', 'tea'],
    ['a possible break of a word', 'green<wbr>tea', 'greentea'],
  ])('removes the tags of %s', (_, html, text) => {
    expect(plainText(html)).toBe(text);
  });

  it.each([
    ['paragraphs', '<p>one</p><p>two</p>', ' one  two '],
    ['line breaks', 'one<br>two<br/>three <br /> four', 'one two three   four'],
    ['a division with a class', '<div class="hit">one</div>', ' one '],
    ['the cells of a table', '<td>one</td><td>two</td>', ' one  two '],
    ['lists', '<ul><li>one</li><li>two</li></ul>', '  one  two  '],
  ])('separates %s', (_, html, text) => {
    expect(plainText(html)).toBe(text);
  });

  it.each([
    'a < b && c > d',
    'if (a<b && c>d)',
    'a <b c> d',
    'List<String>',
    'Array<b>, Promise<i>, Vec<u>',
    'Map<String, List<Integer>>',
    '#include <stdio.h>',
    'std::vector<int> v; v << 1',
    'the <b> tag and the </b> tag',
    'the <div> element',
    'the <img> tag has no end tag',
    'an HTML comment begins with <!--',
    '<T extends U>(x: T) => x',
    'for (int i = 0; i<s; i++) { p>q }',
    '<3 tea',
    'AT&T, R&D, a && b, &x, ?a=1&copy=2&lang=de',
    '1 &lt 2',
    '&bogus;',
    'Grüße, 世界 😀',
    '<script>alert(1)</script>',
  ])('keeps %j', (text) => {
    expect(plainText(text)).toBe(text);
  });

  it('decodes code in an excerpt of a page', () => {
    expect(plainText('use <code>List&lt;String&gt;</code> if a &lt; b &amp;&amp; c')).toBe(
      'use List<String> if a < b && c',
    );
  });

  it('returns what a page shows for any text that was encoded once', () => {
    const encode = (text: string): string => text.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);
    const anyText = fc.string({ unit: fc.constantFrom('a', ' ', '<', '>', '/', '=', '1', 'é', '😀'), maxLength: 40 });
    fc.assert(
      fc.property(anyText, (text) => {
        fc.pre(plainText(text) === text);
        expect(plainText(encode(text))).toBe(text);
      }),
    );
  });

  it('reads long hostile text in linear time', () => {
    for (const part of ['<b>', '<b ', '</b>', '<b a=', '<![CDATA[', '&#', '&amp;', '<'])
      expect(plainText(part.repeat(5_000)).length).toBeGreaterThan(0);
  });
});
