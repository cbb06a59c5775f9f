import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWith } from '@uswarm/testkit';
import { type ForwardProxy, startForwardProxy } from '@uswarm/testkit/forward-proxy';
import type { Locator, Page } from 'playwright-core';
import { HOSTILE } from './hostile-samples.js';
import { type Person, startWorld, type World } from './world.js';

/** Characters in an answer that are neither split nor cut. */
const LONGEST = 30_000;

/** Each sample below a line with its number. */
const numbered = (samples: readonly string[], from: number): string[] =>
  samples.map((sample, index) => `Sample ${from + index}.\n\n${sample}\n\n`);

/** Joins the samples into as few texts as possible. */
function joined(samples: readonly string[]): string[] {
  const texts = [''];
  for (const sample of samples)
    if ((texts.at(-1) + sample).length > LONGEST) texts.push(sample);
    else texts.push((texts.pop() ?? '') + sample);
  return texts;
}

const { LOADS, RUNS, DECEIVES, EXHAUSTS } = HOSTILE;
const SAMPLES = [LOADS, RUNS, DECEIVES, EXHAUSTS].reduce<string[]>(
  (all, group) => [...all, ...numbered(group, all.length + 1)],
  [],
);
const TEXTS = joined(SAMPLES).map((text, index) => `${text}\n\nEnd ${index}.`);

/** Markdown elements with the attributes that the page gives them. */
const ELEMENTS: Readonly<Record<string, string>> = {
  a: 'aria-describedby aria-label class data-footnote-backref data-footnote-ref href id rel target',
  code: 'class',
  div: 'aria-label class data-scroll role tabindex',
  h2: 'class id',
  input: 'checked disabled type',
  li: 'class id',
  ol: 'class start',
  pre: 'aria-label tabindex',
  section: 'class data-footnotes',
  td: 'style',
  th: 'style',
  ul: 'class',
  ...Object.fromEntries(
    'blockquote br del em h1 h3 h4 h5 h6 hr p small span strong sup table tbody thead tr'
      .split(' ')
      .map((name) => [name, '']),
  ),
};

/**
 * Findings below this element: elements, attributes and addresses that are not Markdown, links that hide their target, hidden
 * characters, and missing samples.
 */
const oddities = (page: Page, root: string, text: string): Promise<string[]> =>
  page.evaluate(
    `(([root, allowed, samples]) => [...document.querySelectorAll(root + ' [class*="_text_"]')].flatMap((shown) => [
      ...[...shown.querySelectorAll('*')].flatMap((element) => {
        const name = element.localName;
        const attributes = (allowed[name] ?? '').split(' ');
        const isOdd = !(name in allowed) || element.getAttributeNames().some((each) => !attributes.includes(each));
        const { href = '', protocol, host, pathname } = element;
        const target = name !== 'a' || href === '' ? '' : protocol === 'mailto:' ? pathname : host;
        const isHidden = target !== '' && !element.textContent.includes(target);
        const isForeign = href !== '' && !['https:', 'mailto:'].includes(protocol);
        const isStyled = !/^(text-align: (left|right|center);)?$/.test(element.getAttribute('style') ?? '');
        return isOdd || isHidden || isForeign || isStyled ? [element.cloneNode().outerHTML.slice(0, 300)] : [];
      }),
      ...(shown.textContent.match(/[\\u00ad\\u200b\\u202e\\u2066\\u3164\\ufeff]|[\\u{e0000}-\\u{e01ef}]/gu) ?? []),
    ]).concat(samples.filter((sample) => !document.querySelector(root).textContent.includes(sample))))(
      ${JSON.stringify([root, ELEMENTS, text.match(/Sample \d+\./g)])})`,
  ) as Promise<string[]>;

describeWith('chromium', 'hostile Markdown', () => {
  let proxy: ForwardProxy;
  let world: World;
  let eve: Person;
  let page: Page;
  const problems: string[] = [];
  beforeAll(async () => {
    proxy = await startForwardProxy();
    world = await startWorld();
    eve = await world.person('Eve', { proxy: { server: proxy.url, bypass: '<-loopback>' } });
    ({ page } = eve);
    page.on('dialog', (dialog) => problems.push(dialog.message()));
    page.on('download', (download) => problems.push(download.url()));
    page.context().on('page', (other) => problems.push(other.url()));
    await eve.visit(`/w/${eve.workspace}/c/${eve.conversation}`);
  });
  afterAll(async () => {
    await world?.stop();
    await proxy?.close();
  });

  const own = (): string => new URL(world.local.url).host;
  /** Waits for Markdown: before its code is loaded, the text has a class. */
  const ended = (root: Locator, index: number): Promise<void> =>
    root
      .locator('p:not([class])', { hasText: `End ${index}.` })
      .last()
      .waitFor();
  /** Effects that the text below this element caused. */
  const harm = async (root: string, text: string): Promise<object> => ({
    oddities: await oddities(page, root, text),
    pwned: await page.evaluate('String(globalThis.pwned)'),
    problems: [...problems, ...eve.problems],
    others: proxy.targets.filter((target) => target !== own()),
    isWatched: proxy.targets.includes(own()),
  });
  const NONE = { oddities: [], pwned: 'undefined', problems: [], others: [], isWatched: true };

  it('loads, runs and hides nothing in messages, and leaves the page usable', async () => {
    expect(SAMPLES.length).toBeGreaterThanOrEqual(80);
    for (const [index, text] of TEXTS.entries()) {
      world.behave = () => [{ text }];
      await eve.ask(`Text ${index}`);
      await ended(page.getByRole('log'), index);
      expect(await harm('[role=log]', text)).toEqual(NONE);
    }
    world.behave = () => [{ text: 'Still here.' }];
    await page.getByRole('textbox', { name: 'Message' }).fill('Are you there?');
    await page.getByRole('textbox', { name: 'Message' }).press('Enter');
    await page.getByText('Still here.', { exact: true }).waitFor();
  });

  it('loads, runs and hides nothing in documents', async () => {
    await eve.converse();
    await eve.visit(`/w/${eve.workspace}/c/${eve.conversation}`);
    for (const [index, content] of TEXTS.entries()) {
      world.behave = (_agent, _prompt, { length }) =>
        length === 0
          ? [{ toolCalls: [{ name: 'create_artifact', arguments: { title: `Document ${index}`, content } }] }]
          : [{ text: `Written ${index}.` }];
      await eve.ask(`Document ${index}`);
      // Until the answer is complete, the log scrolls: a link that moves while it is pressed is not followed.
      await page.getByRole('log').getByText(`Written ${index}.`, { exact: true }).waitFor();
      await page
        .getByRole('log')
        .getByRole('link', { name: `Document ${index}` })
        .first()
        .click();
      await ended(page.getByRole('complementary', { name: 'Details' }), index);
      expect(await harm('[aria-label=Details]', content)).toEqual(NONE);
    }
  });

  it('is shown as plain text if the code for Markdown cannot be loaded', async () => {
    const opened = await world.open('/legal/terms');
    await opened.page.route('**/assets/markdown-*.js', (route) => route.abort());
    await opened.page.reload();
    await opened.page.getByRole('heading', { name: 'Terms of service' }).waitFor();
    await opened.page
      .getByText(/^# |\n# |\n## /)
      .first()
      .waitFor();
    expect(opened.problems.filter((problem) => problem.includes('Minified React error'))).toEqual([]);
  });
});
