import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWith } from '@uswarm/testkit';
import type { Page, Route } from 'playwright-core';
import { violations } from './page.js';
import { type Person, shoot, startWorld, type World } from './world.js';

const TEXT = 'See **all** of it.';

/** Breaks requests for files whose name begins so. @returns counts them */
async function breakFiles(page: Page, name: string, isBroken: (request: number) => boolean = () => true) {
  let requests = 0;
  await page.route(`**/assets/${name}-*`, (route: Route) =>
    isBroken((requests += 1)) ? route.abort('connectionreset') : route.continue(),
  );
  return () => requests;
}

/** React reports an error after it has shown the replacement. */
const reported = (page: Page) =>
  page.waitForEvent('console', (message) => message.text().includes('dynamically imported module'));

describeWith('chromium', 'the page, when its files cannot be loaded', () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld();
    world.behave = () => [{ text: TEXT }];
  });
  afterAll(() => world?.stop());

  const agents = ({ workspace }: Person) => `/w/${workspace}/agents`;

  it('loads a screen again after the connection broke', async () => {
    const ada = await world.person('Ada');
    const requests = await breakFiles(ada.page, 'screens', (request) => request <= 2);
    await ada.visit(agents(ada));
    await ada.page.getByRole('heading', { name: 'Agents', level: 1 }).waitFor();
    expect(requests()).toBe(3);
  });

  it('keeps everything else, and offers to load the page again', async () => {
    const ben = await world.person('Ben');
    const { page } = ben;
    await breakFiles(page, 'screens');
    await ben.visit(agents(ben));
    await page.getByRole('main').getByRole('alert').getByText('could not be loaded').waitFor();
    expect(await violations(page)).toEqual([]);
    await shoot(page, 'part-not-loaded');

    const chat = `/w/${ben.workspace}/c/${ben.conversation}`;
    await ben.visit(`${chat}?panel=swarm`);
    await page.getByRole('complementary', { name: 'Details' }).getByRole('alert').waitFor();
    await page.getByRole('textbox', { name: 'Message' }).fill('Hello');
    await page.keyboard.press('Enter');
    // The text of the answer, as Markdown.
    await page.getByRole('log').getByText('See all of it.').waitFor();
    await ben.visit(chat);
    await page.getByRole('alert').waitFor({ state: 'detached' });

    await ben.visit(agents(ben));
    const again = page.getByRole('button', { name: 'Load the page again' });
    await again.waitFor();
    await page.unrouteAll();
    await again.click();
    await page.getByRole('heading', { name: 'Agents', level: 1 }).waitFor();
  });

  it('shows an answer as plain text', async () => {
    const cleo = await world.person('Cleo');
    await breakFiles(cleo.page, 'markdown');
    const failed = reported(cleo.page);
    await cleo.visit(`/w/${cleo.workspace}/c/${cleo.conversation}`);
    await cleo.ask('Hello');
    await cleo.page.getByRole('log').getByText(TEXT).waitFor();
    await failed;
    expect(await cleo.page.getByRole('log').innerText()).toContain(TEXT);
  });

  it('opens a menu after the page is loaded again', async () => {
    const { page } = await world.person('Dora');
    await breakFiles(page, 'overlays');
    const account = page.getByRole('button', { name: /^Account of/ });
    const failed = reported(page);
    await account.click();
    await failed;
    await page.unrouteAll();
    const loaded = page.waitForEvent('load');
    await account.click();
    await loaded;
    await account.click();
    const signOut = page.getByRole('menuitem', { name: 'Sign out' });
    await signOut.waitFor();
    expect(await signOut.isEnabled()).toBe(true);
  });
});
