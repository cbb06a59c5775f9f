import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { ModelStep } from '@uswarm/dev-servers';
import { describeWith } from '@uswarm/testkit';
import { violations } from './page.js';
import { type Person, shoot, startWorld, type World } from './world.js';

const call = (name: string, input: object): ModelStep[] => [{ toolCalls: [{ name, arguments: input }] }];
const delegate = (...agents: string[]): ModelStep[] => [
  {
    toolCalls: agents.map((agent) => ({
      name: 'delegate',
      arguments: { agent, task: `Collect what the ${agent} knows about tea`, expected: 'One sentence', context: '' },
    })),
  },
];
const isTask = (prompt: string): boolean => prompt.includes('You work on a task of your colleague');
const idIn = (text = ''): string => /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/.exec(text)?.[0] ?? '';

describeWith('chromium', 'the panels of a conversation', () => {
  let world: World;
  let ada: Person;
  beforeAll(async () => {
    world = await startWorld();
    ada = await world.person('Ada');
  });
  beforeEach(() => ada.converse());
  afterAll(() => world?.stop());

  const open = (query: string) => ada.visit(`/w/${ada.workspace}/c/${ada.conversation}${query}`);

  it('show who works on which part, and stop one task with the keyboard', async () => {
    world.behave = (agent, prompt, results) => {
      if (!isTask(prompt)) return results.length === 0 ? delegate('researcher', 'writer') : [{ text: 'Together.' }];
      if (agent === 'researcher') return results.length === 0 ? delegate('analyst') : [{ text: 'Facts.' }];
      return [{ hold: agent }, { text: `Of ${agent}.` }];
    };
    const { page } = ada;
    await open('?panel=swarm');
    const panel = page.getByRole('complementary', { name: 'Details' });
    await panel.getByRole('heading', { name: 'No agent works right now' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await ada.ask('Ask your team');
    await Promise.all(['analyst', 'writer'].map((hold) => world.model.reached(hold)));
    const nested = panel
      .getByRole('listitem')
      .filter({ hasText: 'Researcher' })
      .getByRole('article', { name: /^Analyst/ });
    await nested.getByText('Working').waitFor();
    await panel.getByText('2 agents work.').waitFor();
    await panel
      .getByText(/with tasks .* tokens/)
      .first()
      .waitFor();
    expect(await violations(page)).toEqual([]);
    await shoot(page, 'swarm');
    await panel.getByRole('button', { name: /^Stop Writer/ }).focus();
    await page.keyboard.press('Enter');
    await panel
      .getByRole('article', { name: /^Writer/ })
      .getByText('Failed')
      .waitFor();
    world.model.release('analyst');
    await panel.getByText('All agents are idle.').waitFor();
    expect(await panel.getByRole('button', { name: /^Stop/ }).count()).toBe(0);
    world.model.release('writer');
  });

  it('open by a click while the transcript scrolls, as it does with each line of an answer', async () => {
    world.behave = (_agent, _prompt, results) =>
      results.length === 0
        ? call('create_artifact', { title: 'Tea party', content: 'Invite the guests.' })
        : [{ text: 'A line about tea.\n\n'.repeat(30) }];
    const { page } = ada;
    await open('');
    await ada.ask('Write a document');
    const log = page.getByRole('log');
    await log.getByText('A line about tea.').last().waitFor();
    const card = log.getByRole('link', { name: /Tea party/ });
    await card.scrollIntoViewIfNeeded();
    await page.evaluate(`{
      const log = document.querySelector('[role=log]');
      let pixels = 1;
      window.scrolling = setInterval(() => log.scrollBy(0, (pixels = -pixels)), 20);
    }`);
    const { x, y } = (await card.boundingBox())!;
    await page.waitForTimeout(500);
    await page.mouse.click(x + 20, y + 20);
    const panel = page.getByRole('complementary', { name: 'Details' });
    await panel.getByText('Invite the guests.').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.evaluate('clearInterval(scrolling)');
  });

  it('show a document while it is written, its versions and changes, and that it was deleted', async () => {
    world.behave = (_agent, _prompt, results) => {
      const [created] = results;
      const content = '# Tea party\n\n- Invite the guests\n- Buy green tea\n';
      if (results.length === 0) return call('create_artifact', { title: 'Tea party', content });
      const id = idIn(created);
      if (results.length === 1)
        return [
          { hold: 'revision' },
          ...call('revise_artifact', { artifact_id: id, expected_version: 1, content: `${content}- Boil water\n` }),
        ];
      return [{ hold: 'end' }, { text: 'It is ready.' }];
    };
    const { page } = ada;
    await ada.ask('Write a document');
    await world.model.reached('revision');
    type Artifacts = { data: { id: string }[] };
    const artifacts = `/v1/workspaces/${ada.workspace}/artifacts`;
    const { id } = (await ada.api<Artifacts>('GET', artifacts)).data[0]!;
    await open(`?panel=artifact&artifact=${id}`);
    const panel = page.getByRole('complementary', { name: 'Details' });
    await panel.getByRole('heading', { name: 'Tea party' }).first().waitFor();
    await panel.getByText('Manager still works on it.').waitFor();
    expect(await violations(page)).toEqual([]);
    world.model.release('revision');
    await panel.getByText('Boil water').waitFor();
    await panel.getByRole('radio', { name: 'Changes' }).check();
    await panel.getByRole('listitem').filter({ hasText: 'Added: - Boil water' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await shoot(page, 'artifact-changes');
    await panel.getByRole('button', { name: /^Version 2 of 2/ }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('menuitem', { name: /^Version 1/ }).click();
    await panel.getByRole('button', { name: /^Version 1 of 2/ }).waitFor();
    await panel.getByRole('radio', { name: 'Read' }).check();
    await shoot(page, 'artifact');
    const downloading = page.waitForEvent('download');
    await panel.getByRole('button', { name: 'Download' }).click();
    expect((await downloading).suggestedFilename()).toBe('Tea party.md');
    await panel.getByRole('button', { name: /^Version 1 of 2/ }).click();
    await page.getByRole('menuitem', { name: 'Delete the document…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await panel.getByRole('heading', { name: 'This document was deleted' }).waitFor();
    expect(await violations(page)).toEqual([]);
    world.model.release('end');
  });

  it('show the page of a document as text, which does not run', async () => {
    const html = `<!doctype html><script>document.title = 'ran'</script>${'<p>tea</p>'.repeat(1_000)}`;
    world.behave = (_agent, _prompt, results) =>
      results.length === 0 ? call('create_artifact', { title: 'Page', content: html }) : [{ text: 'It is ready.' }];
    const { page } = ada;
    await open('?panel=swarm');
    await ada.ask('Write a page');
    const card = page.getByRole('log').getByRole('link', { name: /Page/ });
    await card.click();
    await page.getByText('does not run here').waitFor();
    await page.getByLabel('Source', { exact: true }).getByText('doctype html').waitFor();
    expect(await page.title()).not.toBe('ran');
    expect(await violations(page)).toEqual([]);
  });

  it('show calls and events of the screen to developers, as curl and as a client call', async () => {
    const { page } = ada;
    await ada.visit(`/w/${ada.workspace}/agents`);
    await page.getByRole('heading', { name: 'Length of answers' }).waitFor();
    await page.keyboard.press('Control+.');
    const drawer = page.getByRole('complementary', { name: 'For developers' });
    const entry = drawer.locator('summary').filter({ hasText: '/settings' });
    await entry.getByText('Get the settings of an agent').waitFor();
    await entry.focus();
    await page.keyboard.press('Enter');
    await drawer.getByText(/client\.api\.get\('\/v1\/agents\/\{id\}\/settings', \{/).waitFor();
    const curl = await drawer.getByLabel('curl', { exact: true }).innerText();
    expect(curl).toMatch(/^curl 'http:.*\/settings' \\\n {2}-H "X-Token: \$TOKEN"$/);
    expect(await violations(page)).toEqual([]);
    await shoot(page, 'developer');
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
  });
});
