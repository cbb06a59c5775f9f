import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ModelStep } from '@uswarm/dev-servers';
import { describeWith } from '@uswarm/testkit';
import type { Page } from 'playwright-core';
import { type Person, startWorld, type World } from './world.js';

const ROOT = join(import.meta.dirname, '../../..');
/** In the repository, one of each scene. */
const PUBLISHED = join(ROOT, 'docs/pictures');
/** All pictures, ignored by git. */
const ALL = join(ROOT, '.cache/pictures');
const MOST_BYTES = 120 * 1024;

type Scheme = 'light' | 'dark';
const SIZES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };
type Size = keyof typeof SIZES;
/** Two pictures per scene, and the size that the docs show. */
const SCENES: Readonly<Record<string, { desktop: Scheme; phone: Scheme; published: Size }>> = {
  swarm: { desktop: 'light', phone: 'dark', published: 'desktop' },
  document: { desktop: 'dark', phone: 'light', published: 'desktop' },
  approval: { desktop: 'light', phone: 'dark', published: 'phone' },
  waiting: { desktop: 'dark', phone: 'light', published: 'phone' },
  timeline: { desktop: 'light', phone: 'dark', published: 'desktop' },
  'first-run': { desktop: 'dark', phone: 'light', published: 'desktop' },
};

/** Takes WebP with the best quality that is small enough. */
async function takePicture(page: Page, mostBytes: number): Promise<Buffer> {
  const session = await page.context().newCDPSession(page);
  for (let quality = 92; ; quality -= 8) {
    const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality });
    const bytes = Buffer.from(data, 'base64');
    if (bytes.length <= mostBytes || quality <= 20) return bytes;
  }
}

const call = (name: string, input: object): ModelStep[] => [{ toolCalls: [{ name, arguments: input }] }];
const delegate = (tasks: Record<string, string>): ModelStep[] => [
  {
    toolCalls: Object.entries(tasks).map(([agent, task]) => ({
      name: 'delegate',
      arguments: { agent, task, expected: 'Five sentences with sources', context: '' },
    })),
  },
];
const isTask = (prompt: string): boolean => prompt.includes('You work on a task of your colleague');

const SUMMARY = `All three suppliers ship within a week. **Kawane** is the best choice for the start: it is certified, and its price is
in the middle.

| supplier | harvest | price per kg | certified |
| --- | --- | ---: | :---: |
| Kawane | April | 84 € | yes |
| Uji Marui | May | 96 € | yes |
| Yame Sora | May | 71 € | no |

The proposal has the order, the dates and what could go wrong.`;
const PROPOSAL = `# Green tea for the spring menu

We open the season on **20 April** with three teas. This page has what to order, from whom, and by when.

## Order

| tea | supplier | amount | cost |
| --- | --- | ---: | ---: |
| Sencha | Kawane | 12 kg | 1,008 € |
| Gyokuro | Uji Marui | 3 kg | 288 € |
| Houjicha | Kawane | 5 kg | 310 € |

## Dates

1. Samples arrive until 12 March.
2. The team tastes them on 14 March.
3. The order leaves on 16 March.

## What could go wrong

- A late harvest delays the Gyokuro by two weeks. Sencha takes its place on the menu.
- Prices rise after the first flush. The offers are valid until 20 March.
`;

/** `npm run pictures` sets it. */
const describePictures = process.env['USWARM_PICTURES'] === undefined ? describe.skip : describe;

describePictures('the pictures', () => {
  describeWith('chromium', 'of the page', () => {
    let world: World;
    let ada: Person;
    beforeAll(async () => {
      world = await startWorld();
      ada = await world.person('Ada', { deviceScaleFactor: 2 });
      await mkdir(PUBLISHED, { recursive: true });
      await mkdir(ALL, { recursive: true });
    });
    afterAll(() => world?.stop());

    async function shoot(scene: string): Promise<void> {
      const { page } = ada;
      const { published, ...schemes } = SCENES[scene]!;
      for (const size of ['desktop', 'phone'] as const) {
        await page.setViewportSize(SIZES[size]);
        await page.emulateMedia({ colorScheme: schemes[size], reducedMotion: 'reduce' });
        // Colours change in steps.
        await page.evaluate(`new Promise(requestAnimationFrame).then(() => {
          for (const each of document.getAnimations()) if (each instanceof CSSTransition) each.finish();
        })`);
        const bytes = await takePicture(page, MOST_BYTES);
        await writeFile(join(ALL, `${scene}-${size}-${schemes[size]}.webp`), bytes);
        if (published === size) await writeFile(join(PUBLISHED, `${scene}.webp`), bytes);
      }
      await page.setViewportSize(SIZES.desktop);
    }

    it('show agents that work, their document, and what needs a decision', async () => {
      const { page } = ada;
      const details = page.getByRole('complementary', { name: 'Details' });
      const log = page.getByRole('log', { name: 'Messages' });
      const place = (): string => `/w/${ada.workspace}/c/${ada.conversation}`;
      await ada.visit(`/w/${ada.workspace}`);
      await page.getByRole('button', { name: /Delegate to three agents/ }).waitFor();
      await page.getByText('Live', { exact: true }).waitFor();
      await shoot('first-run');

      world.behave = (agent, prompt, results) => {
        if (isTask(prompt))
          return [{ hold: agent }, { text: `The three suppliers answered. Their offers are valid until 20 March.` }];
        if (results.length === 0)
          return delegate({
            researcher: 'Find three suppliers of organic green tea in Japan',
            analyst: 'Compare prices, harvest and delivery for 20 kg',
          });
        if (results.length === 2)
          return call('create_artifact', { title: 'Green tea for the spring menu', content: PROPOSAL });
        return [{ text: SUMMARY }];
      };
      await ada.visit(`${place()}?panel=swarm`);
      await ada.ask('Compare three suppliers of green tea, and write a proposal for the spring menu.');
      await Promise.all(['researcher', 'analyst'].map((hold) => world.model.reached(hold)));
      await details.getByText('2 agents work.').waitFor();
      await shoot('swarm');
      for (const agent of ['researcher', 'analyst']) world.model.release(agent);
      await page.getByText('The answer is complete.').waitFor({ state: 'attached' });
      await log
        .getByRole('link', { name: /Green tea for the spring menu/ })
        .last()
        .click();
      await details.getByRole('heading', { name: 'Dates' }).waitFor();
      await shoot('document');
      await log.getByRole('link', { name: 'Steps' }).first().click();
      await page.getByRole('region', { name: 'What happened' }).getByText('Completed', { exact: true }).waitFor();
      await shoot('timeline');

      const { data: agents } = await ada.api<{ data: { id: string; slug: string }[] }>(
        'GET',
        `/v1/workspaces/${ada.workspace}/agents`,
      );
      const manager = agents.find(({ slug }) => slug === 'manager')!;
      await ada.api('PATCH', `/v1/agents/${manager.id}/tools/memories`, { permission: 'ask' });
      world.behave = (_agent, _prompt, results) =>
        results.length === 0
          ? call('remember', {
              key: 'supplier of green tea',
              content: 'The team chose Kawane for the spring menu: 12 kg of Sencha and 5 kg of Houjicha.',
              category: 'general',
            })
          : [{ text: 'Noted.' }];
      await ada.converse();
      await ada.visit(place());
      await ada.ask('We take Kawane. Please remember that for the next order.');
      const card = page.getByRole('region', { name: /^Approve\?/ });
      await card.waitFor();
      await shoot('approval');
      await page.getByRole('link', { name: 'Waiting for me: 1' }).click();
      await card.waitFor();
      await shoot('waiting');
      expect(ada.problems).toEqual([]);
    });
  });
});

describe('the pictures in docs', () => {
  it('are one of each scene, small, and shown somewhere', async () => {
    const names = (await readdir(PUBLISHED)).toSorted();
    // The trace is not a picture of the page: a test of local mode draws it.
    expect(names.filter((name) => name.endsWith('.webp'))).toEqual(
      Object.keys(SCENES)
        .map((scene) => `${scene}.webp`)
        .toSorted(),
    );
    const texts = await Promise.all(
      ['README.md', 'docs/page.md', 'docs/quickstart.md', 'docs/tracing.md'].map((name) =>
        readFile(join(ROOT, name), 'utf8'),
      ),
    );
    for (const name of names) {
      expect({ name, isShown: texts.some((text) => text.includes(`pictures/${name}`)) }).toEqual({
        name,
        isShown: true,
      });
      expect((await stat(join(PUBLISHED, name))).size).toBeLessThanOrEqual(MOST_BYTES);
    }
  });
});
