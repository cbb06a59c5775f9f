import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { ModelStep } from '@uswarm/dev-servers';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { byTier } from '@uswarm/testkit/tier';
import type { Page } from 'playwright-core';
import { ask, violations } from './page.js';
import { type Person, shoot, startWorld, type World } from './world.js';

const RICH = `# Tea

| kind | minutes |
| --- | --- |
| green, which is steeped at eighty degrees | 2 |

\`\`\`
const averyLongLineOfCodeThatDoesNotFitOnAPhone = brew({ kind: 'green', minutes: 2, degrees: 80, cups: 2 });
\`\`\`
`;
const card = (): ModelStep[] => [
  {
    toolCalls: [
      {
        name: 'action_card_tool',
        arguments: {
          title: 'Which tea?',
          description: '',
          actions: [{ id: 'green', label: 'Green', style: 'primary' }],
        },
      },
    ],
  },
];
/** CSS pixels; a desktop of 1280 at 200 % has 640. */
const WIDTHS = [320, 390, 640, 1280];

describeWith('chromium', 'the page', () => {
  let world: World;
  let ada: Person;
  beforeAll(async () => {
    world = await startWorld();
    ada = await world.person('Ada');
    world.behave = (agent, prompt, results) => {
      if (prompt.includes('Which') && results.length === 0) return card();
      const [, hold] = /Hold (\w+)/.exec(prompt) ?? [];
      if (hold !== undefined) return [{ text: 'So far.' }, { hold }];
      return [{ text: agent === 'writer' ? 'I am the writer.' : RICH }];
    };
    await ada.ask('Tell me about tea');
    await ada.ask('Which one?');
    await ada.visit(`/w/${ada.workspace}/c/${ada.conversation}`);
    await ada.page.getByText('Waits for you', { exact: true }).first().waitFor();
  });
  beforeEach(() => ada.page.setViewportSize({ width: 1280, height: 800 }));
  afterAll(() => world?.stop());

  const box = () => ada.page.getByRole('textbox', { name: 'Message' });
  const conversation = () => `/w/${ada.workspace}/c/${ada.conversation}`;
  /** Elements off the screen, or cut off. Parts may scroll, and long lines may end with an ellipsis. */
  const overflow = (page: Page): Promise<string[]> =>
    page.evaluate(`[...document.querySelectorAll('body *')].filter((one) => {
      const { overflowX, textOverflow } = getComputedStyle(one);
      const isCut = overflowX === 'hidden' && textOverflow === 'clip' && one.clientWidth > 8 && one.scrollWidth > one.clientWidth + 1;
      const { left, right, width } = one.getBoundingClientRect();
      const isOutside = width > 0 && (left < -1 || right > innerWidth + 1);
      for (let each = one.parentElement; isOutside && each !== null; each = each.parentElement)
        if (getComputedStyle(each).overflowX !== 'visible') return isCut;
      return isCut || isOutside;
    }).map((one) => one.outerHTML.slice(0, 120)).concat(document.documentElement.scrollWidth > innerWidth ? ['document'] : [])`);

  /** Panels slide in. Spinners never end. */
  const moved = (page: Page): Promise<unknown> =>
    page.evaluate(`Promise.allSettled(document.getAnimations()
      .filter((one) => one.effect.getTiming().iterations !== Infinity).map((one) => one.finished)).then(() => true)`);

  it.each([
    ['the workspaces', () => '/', 'Workspaces'],
    ['a workspace', () => `/w/${ada.workspace}`, 'What should the swarm do, Ada?'],
    ['a conversation', conversation, ''],
    ['the swarm panel', () => `${conversation()}?panel=swarm`, ''],
    ['the search panel', () => `${conversation()}?panel=search`, 'Search'],
    ['agents', () => `/w/${ada.workspace}/agents`, 'Agents'],
    ['connections', () => `/w/${ada.workspace}/connections`, 'Connections'],
    ['usage', () => `/w/${ada.workspace}/usage`, 'Usage'],
    ['receipts', () => `/w/${ada.workspace}/receipts`, 'Done on your behalf'],
    ['cards', () => '/waiting', 'Waiting for me'],
    ['the account', () => '/account', 'Account'],
  ])('fits at each width, from left to right and from right to left: %s', async (_, path, heading) => {
    const { page } = ada;
    await ada.visit(path());
    if (heading !== '') await page.getByRole('heading', { name: heading, exact: true }).first().waitFor();
    await moved(page);
    const found: Record<string, string[]> = {};
    for (const direction of ['rtl', 'ltr'])
      for (const width of WIDTHS) {
        await page.evaluate(`document.documentElement.dir = '${direction}'`);
        await page.setViewportSize({ width, height: width === 640 ? 400 : 800 });
        const isChecked = byTier({ core: direction === 'rtl' && width === 320, all: true });
        found[`${direction} ${width}`] = [...(await overflow(page)), ...(isChecked ? await violations(page) : [])];
      }
    expect(found).toEqual(Object.fromEntries(Object.keys(found).map((key) => [key, []])));
  });

  it('does without animations if the device asks for less motion', async () => {
    const { page } = ada;
    const moving = (): Promise<string[]> =>
      page.evaluate(
        `document.getAnimations().filter(({ playState }) => playState === 'running').map((one) => one.animationName)`,
      );
    await ada.converse();
    await ada.visit(conversation());
    await ask(page, 'Hold moving');
    await page.getByRole('log').getByText('So far.').waitFor();
    expect((await moving()).length).toBeGreaterThan(0);
    await page.emulateMedia({ reducedMotion: 'reduce' });
    expect(await eventually(moving, { until: ({ length }) => length === 0 })).toEqual([]);
    await page.emulateMedia({ reducedMotion: 'no-preference' });
    world.model.release('moving');
  });

  it('shows where the focus is, wherever Tab leads', async () => {
    const { page } = ada;
    await page.emulateMedia({ reducedMotion: 'reduce' });
    await page.goto(`${world.local.url}${conversation()}`);
    await box().waitFor();
    const [seen, hidden] = [[] as string[], [] as string[]];
    for (;;) {
      await page.keyboard.press('Tab');
      // Finds differences without the focus, in the element or its frame.
      const [name, isVisible] = await page.evaluate<[string, boolean]>(`(async () => {
        const one = document.activeElement;
        if (one === document.body || one.dataset.seen) return ['', true];
        one.dataset.seen = 'yes';
        const styles = [one, one.parentElement, one.closest('form') ?? one].map((each) => getComputedStyle(each));
        const look = () => styles.map((each) => [each.outlineStyle, each.boxShadow, each.borderColor, each.translate].join()).join();
        const shown = async () => { for (const _ of [1, 2]) await new Promise(requestAnimationFrame); return look(); };
        const focused = await shown();
        one.blur();
        const isVisible = (await shown()) !== focused;
        one.focus();
        return [one.tagName + ' ' + (one.getAttribute('aria-label') ?? one.textContent).trim().slice(0, 40), isVisible];
      })()`);
      if (name === '') break;
      seen.push(name);
      if (!isVisible) hidden.push(name);
    }
    expect(hidden).toEqual([]);
    expect(seen.join('\n')).toMatch(/New conversation[^]*Agents[^]*Messages[^]*Message/);
  });

  it('is used with the keyboard alone: a question, its answer, a stop, and the card that waits', async () => {
    const { page } = ada;
    await ada.converse();
    await ada.visit(conversation());
    await page.keyboard.press('Control+k');
    expect(await page.evaluate('document.activeElement.type')).toBe('search');
    await box().focus();
    await page.keyboard.type('Hold keys');
    await page.keyboard.press('Enter');
    // The conversation list shows the same words from another one.
    await page.getByRole('log').getByText('So far.').waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('Press Esc again to stop the answer').waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('Stopped.', { exact: true }).waitFor();
    await page.keyboard.type('Which one?');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Green', exact: true }).waitFor();
    await page.getByRole('log').focus();
    await page.keyboard.press('[');
    expect(await page.evaluate('document.activeElement.tagName')).toBe('ARTICLE');
    await page.keyboard.press('a');
    await page.keyboard.press('Enter');
    await page.getByRole('log').getByText('You chose: Green').waitFor();
  });

  it('lists its keys on “?”, but not while the user writes', async () => {
    const { page } = ada;
    await box().focus();
    await page.keyboard.type('Why?');
    expect(await box().inputValue()).toBe('Why?');
    await box().fill('');
    await page.getByRole('log').focus();
    await page.keyboard.press('?');
    const dialog = page.getByRole('dialog', { name: 'Keys' });
    await dialog.getByText('stops the answer').waitFor();
    await shoot(page, 'keys');
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  it('offers agents after an @, narrows them by what follows, and addresses the chosen one', async () => {
    const { page } = ada;
    await ada.converse();
    await ada.visit(conversation());
    await box().focus();
    await page.keyboard.type('Ask @');
    const menu = page.getByRole('menu', { name: 'Agents' });
    await menu.getByRole('menuitem', { name: /^Researcher/ }).waitFor();
    expect(await violations(page)).toEqual([]);
    await shoot(page, 'mention');
    await page.keyboard.type('wri');
    await menu.getByRole('menuitem', { name: /^Researcher/ }).waitFor({ state: 'detached' });
    await page.keyboard.press('Enter');
    await menu.waitFor({ state: 'detached' });
    await page.keyboard.type('about tea');
    expect(await box().inputValue()).toBe('Ask @writer about tea');
    await page.keyboard.press('Enter');
    await page.getByRole('log').getByText('I am the writer.').waitFor();
    await page.keyboard.type('Not @xyz@');
    expect(await box().inputValue()).toBe('Not @xyz@');
    expect(await menu.count()).toBe(0);
    await box().fill('');
  });
});
