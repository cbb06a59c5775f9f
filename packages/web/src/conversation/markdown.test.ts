import { describe, expect, it } from '@jest/globals';

// A variable, because React's types would replace the element types that Chromium tests use.
const modules = ['./markdown.js', 'react', 'react-dom/server'];
const [{ default: Markdown }, { createElement }, { renderToStaticMarkup }] = await Promise.all(
  modules.map((name) => import(name)),
);
const shown = (text: string): string => renderToStaticMarkup(createElement(Markdown, { text }));

describe('the text of an agent', () => {
  it.each([
    ['puts headings below that of the message', '# Tea\n\n###### Cups', '<h3>Tea</h3><h6>Cups</h6>'],
    [
      'shows emphasis and code',
      '*a* **b** ~~c~~ `d`',
      '<p><em>a</em> <strong>b</strong> <del>c</del> <code>d</code></p>',
    ],
    ['keeps the items of a list close', '- a\n- b', '<ul><li>a</li><li>b</li></ul>'],
    ['continues to count', '3. a\n4. b', '<ol start="3"><li>a</li><li>b</li></ol>'],
    ['shows what is done', '- [x] a\n- [ ] b', '<ul><li>☑ a</li><li>☐ b</li></ul>'],
    ['shows HTML as text', 'a <b onclick="x">b</b>', '<p>a &lt;b onclick=&quot;x&quot;&gt;b&lt;/b&gt;</p>'],
    ['keeps the lines of code', '```js\na\n\nb\n```', '<pre tabindex="0" aria-label="Code"><code>a\n\nb</code></pre>'],
  ])('%s', (_, text, html) => {
    expect(shown(text)).toBe(html);
  });

  it('shows a table, whose numbers are aligned as asked', () => {
    const html = shown('| a | b |\n| - | -: |\n| c | 1 |');
    expect(html).toContain('<th>a</th>');
    expect(html).toContain('<td style="text-align:right">1</td>');
  });

  it.each([
    ['a link', '[tea](https://tea.example/)'],
    ['a link whose address is below the text', '[tea][1]\n[1]: https://tea.example/'],
    ['a picture', '![tea](https://tea.example/)'],
    ['an address', 'https://tea.example/'],
  ])('becomes a link from %s', (_, text) => {
    expect(shown(text)).toContain('<a href="https://tea.example/" target="_blank" rel="noreferrer noopener">');
  });

  it('shows the host of a link whose text looks like another address', () => {
    expect(shown('[https://good.example](https://bad.example)')).toContain('<small> (bad.example)</small>');
    expect(shown('[tea](javascript:x)')).toBe('<p><span>tea</span></p>');
  });
});
