import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { freePort } from '@uswarm/dev-servers';
import { describeWith } from '@uswarm/testkit';
import { type AccountServer, startAccountServer } from '@uswarm/testkit/account-server';
import { violations } from './page.js';
import { type Person, shoot, startWorld, type World } from './world.js';

const REMEMBERED = { key: 'favourite tea', content: 'The favourite tea is Darjeeling.', category: 'general' };

describeWith('chromium', 'the screens of a workspace and an account', () => {
  let world: World;
  let accounts: AccountServer;
  let folder: string;
  let ada: Person;
  beforeAll(async () => {
    const port = await freePort();
    accounts = await startAccountServer();
    folder = await mkdtemp(join(tmpdir(), 'uswarm-tool-servers-'));
    const auth = { type: 'oauth', redirect_urls: [`http://127.0.0.1:${port}/connected/linear`] };
    const linear = { id: 'linear', name: 'Linear', description: 'Finds and changes issues.', url: accounts.url, auth };
    await writeFile(join(folder, 'servers.json'), JSON.stringify({ servers: [linear] }));
    world = await startWorld({
      USWARM_PORT: String(port),
      TOOL_SERVERS_FILE: join(folder, 'servers.json'),
      INTEGRATION_TOKEN_KEYS: `test:${randomBytes(32).toString('base64')}`,
    });
    world.behave = (_agent, prompt, results) =>
      prompt.includes('Remember') && results.length === 0
        ? [{ toolCalls: [{ name: 'remember', arguments: REMEMBERED }] }]
        : [{ text: 'Noted.' }];
    ada = await world.person('Ada');
  });
  afterAll(async () => {
    await world?.stop();
    await accounts?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const visit = (screen: string) => ada.visit(`/w/${ada.workspace}/${screen}`);

  it('teach what will be here while there is nothing yet', async () => {
    const { page } = ada;
    for (const [screen, heading] of [
      ['agents?tab=memories', 'Manager remembers nothing yet'],
      ['usage', 'Nothing was used in this month'],
      ['receipts', 'Nothing was changed for you yet'],
    ] as const) {
      await visit(screen);
      await page.getByRole('heading', { name: heading }).waitFor();
      expect(await violations(page)).toEqual([]);
      await shoot(page, `empty-${screen.split('?')[0]}`);
    }
  });

  it('save the settings of an agent, and what its tools may do', async () => {
    const { page } = ada;
    await visit('agents');
    await page.getByRole('radio', { name: 'Short' }).check();
    await page.getByText('works with the new settings').first().waitFor();
    await page.getByRole('button', { name: 'Add an instruction' }).click();
    await page.getByRole('textbox', { name: 'Instruction 1' }).fill('Answer in Polish');
    await page.getByRole('button', { name: 'Save instructions' }).click();
    await page.getByRole('button', { name: 'Save instructions' }).waitFor({ state: 'detached' });
    expect(await violations(page)).toEqual([]);
    await shoot(page, 'agents');
    await page.getByRole('tab', { name: 'Settings' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    const saved = page.waitForResponse((response) => response.request().method() === 'PATCH');
    await page.getByRole('radiogroup', { name: 'memories' }).getByRole('radio', { name: 'Allow' }).focus();
    await page.keyboard.press('ArrowRight');
    expect(await (await saved).json()).toMatchObject({ data: { name: 'memories', permission: 'ask' } });
    expect(await violations(page)).toEqual([]);
    await shoot(page, 'agent-tools');
    await page.getByRole('radiogroup', { name: 'memories' }).getByRole('radio', { name: 'Allow' }).check();
  });

  it('show what an agent remembers and where from, let the user correct it, and forget it', async () => {
    const { page } = ada;
    await ada.ask('Remember my tea');
    await ada.visit(`/w/${ada.workspace}/c/${ada.conversation}`);
    await page.getByText('Noted.', { exact: true }).waitFor();
    await visit('agents?tab=memories');
    const memory = page.getByRole('listitem').filter({ hasText: 'Written by the agent' });
    expect(await memory.getByRole('link', { name: 'Where from' }).getAttribute('href')).toContain(ada.conversation);
    await page.getByLabel('Search memories').fill('coffee');
    await page.getByRole('heading', { name: 'No memory matches' }).waitFor();
    await page.getByLabel('Search memories').fill('darjeeling TEA');
    await memory.getByRole('button', { name: 'Correct favourite tea' }).click();
    await page.getByLabel('What to remember').fill('The favourite tea is Assam.');
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog', { name: /^Correct/ }).waitFor({ state: 'detached' });
    await page.getByLabel('Search memories').fill('');
    await memory.getByText('Assam').waitFor();
    expect(await violations(page)).toEqual([]);
    await shoot(page, 'agent-memories');
    await memory.getByRole('button', { name: 'Forget favourite tea' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Forget', exact: true }).click();
    await page.getByRole('heading', { name: 'Manager remembers nothing yet' }).waitFor();
  });

  it('show what was done, verified in the browser', async () => {
    const { page } = ada;
    await visit('receipts');
    const receipt = page.getByRole('listitem').filter({ hasText: 'remember' });
    await receipt.getByText('Verified').waitFor();
    await receipt.getByText('Details').click();
    await receipt.getByText('Not kept, so that you can delete').waitFor();
    expect(await violations(page)).toEqual([]);
    await shoot(page, 'receipts');
  });

  it('show the usage, and warn when a budget is used up', async () => {
    const { page } = ada;
    await visit('usage');
    await page.getByRole('rowheader', { name: /^Manager/ }).waitFor();
    await page.getByRole('button', { name: 'Set a monthly budget' }).click();
    await page.getByLabel('Tokens').fill('1');
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Used up').waitFor();
    await page.getByRole('radio', { name: 'Day' }).check();
    await page.getByRole('columnheader', { name: 'Day' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await shoot(page, 'usage');
    await page.getByRole('button', { name: 'Change the budget' }).click();
    await page.getByLabel('Tokens').fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Set a monthly budget' }).waitFor();
  });

  it('say that an app is not set up, connect one, and disconnect it', async () => {
    const { page } = ada;
    await visit('connections');
    await page.getByRole('button', { name: 'Connect Gmail' }).click();
    await page.getByRole('dialog', { name: 'Gmail is not set up here' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Connect Linear' }).click();
    await page.getByRole('dialog').getByText('write').waitFor();
    expect(await violations(page)).toEqual([]);
    await shoot(page, 'connections');
    await page.getByRole('button', { name: 'Continue to Linear' }).click();
    await page.getByRole('button', { name: 'Disconnect Linear' }).click();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Disconnect' }).click();
    await page.getByRole('button', { name: 'Connect Linear' }).waitFor();
  });

  it('change the theme, export all data, and delete the account after a confirmation', async () => {
    const { page } = ada;
    await ada.visit('/account');
    await page.getByRole('button', { name: 'Export my data' }).click();
    const ready = page.getByRole('listitem').filter({ hasText: 'Ready' });
    await ready.getByRole('link', { name: 'Download' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await shoot(page, 'account');
    await page.getByRole('radio', { name: 'Dark' }).check();
    expect(await page.locator('html').getAttribute('data-theme')).toBe('dark');
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Sign out everywhere' }).click();
    await page.getByRole('dialog').getByText('also this one').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Delete my account…' }).click();
    const remove = page.getByRole('button', { name: 'Delete everything' });
    expect(await remove.isDisabled()).toBe(true);
    await page.getByLabel(/^Type .* to confirm/).fill('ada@example.com');
    expect(await violations(page)).toEqual([]);
    await shoot(page, 'delete-account');
    await remove.click();
    await page.getByRole('heading', { name: 'Welcome to uswarm' }).waitFor();
  });
});
