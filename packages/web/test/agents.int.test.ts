import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import type { Page } from 'playwright-core';
import { violations } from './page.js';
import { type Person, shoot, startWorld, type World } from './world.js';

interface Agent {
  id: string;
  name: string;
  slug: string;
}

describeWith('chromium', 'the agents of a user', () => {
  let world: World;
  let ada: Person;
  /** Her second device, which shows a conversation. */
  let phone: Page;
  beforeAll(async () => {
    world = await startWorld();
    world.behave = (agent) => [{ text: `I am @${agent}.` }];
    ada = await world.person('Ada');
    const path = `/w/${ada.workspace}/c/${ada.conversation}`;
    const viewport = { width: 360, height: 740 };
    ({ page: phone } = await world.signIn('Ada', { path, viewport }));
    await box(phone).waitFor();
  });
  afterAll(() => world?.stop());

  const box = (page: Page) => page.getByRole('textbox', { name: 'Message' });
  const agents = (page: Page) => page.getByRole('navigation', { name: 'Agents' });
  const menu = () => phone.getByRole('menu', { name: 'Agents' });
  const dialog = () => ada.page.getByRole('dialog');
  const list = () => ada.api<{ data: Agent[] }>('GET', `/v1/workspaces/${ada.workspace}/agents`);
  const named = async (name: string) => (await list()).data.find((agent) => agent.name === name)!;
  const focused = () => ada.page.evaluate<string>('document.activeElement.innerText');

  it('are added with a form, shown immediately, and can be mentioned on another device', async () => {
    const { page } = ada;
    await ada.visit(`/w/${ada.workspace}/agents`);
    const add = page.getByRole('button', { name: 'Add an agent' });
    await add.click();
    expect(await page.evaluate('document.activeElement.name')).toBe('name');
    await page.keyboard.type('Tax adviser');
    await dialog().getByLabel('Description').fill('Knows tax law.');
    await dialog().getByLabel('Instructions that it always follows').fill('Name the paragraph.');
    expect(await violations(page)).toEqual([]);
    await shoot(page, 'add-agent');
    await page.keyboard.press('Tab');
    await dialog().getByLabel('Name', { exact: true }).press('Enter');
    await dialog().waitFor({ state: 'detached' });
    expect(await focused()).toContain('Add an agent');
    await page.getByText('Tax adviser was added. Mention it as @tax-adviser').waitFor();
    const link = agents(page).getByRole('link', { name: /^Tax adviser/ });
    await eventually(() => link.getAttribute('aria-current'), { until: (current) => current === 'page' });
    await eventually(() => page.getByRole('textbox', { name: 'Instruction 1' }).inputValue(), {
      until: (text) => text === 'Name the paragraph.',
    });
    expect(await violations(page)).toEqual([]);
    await shoot(page, 'added-agent');

    await box(phone).focus();
    await phone.keyboard.type('@tax');
    await menu()
      .getByRole('menuitem', { name: /^Tax adviser/ })
      .click();
    await phone.keyboard.type('may I?');
    await phone.keyboard.press('Enter');
    await phone.getByRole('log').getByText('I am @tax-adviser.').waitFor();
  });

  it('have their new name on all devices, also in messages that are shown', async () => {
    const { page } = ada;
    const name = page.getByLabel('Name', { exact: true });
    await page.getByLabel('Role').fill('Jurist');
    await name.fill('Lawyer');
    await name.press('Enter');
    await agents(page)
      .getByRole('link', { name: /^Lawyer/ })
      .getByText('Jurist')
      .waitFor();
    await phone.getByRole('log').getByRole('heading', { name: 'Lawyer' }).waitFor();
    expect(await phone.getByRole('log').getByText('Tax adviser').count()).toBe(0);
    await shoot(page, 'renamed-agent');
    const { id } = await named('Lawyer');
    await ada.api('PATCH', `/v1/agents/${id}`, { name: 'Solicitor' });
    await page.getByRole('heading', { name: 'Solicitor' }).waitFor();
    await eventually(() => name.inputValue(), { until: (text) => text === 'Solicitor' });
    expect(await page.getByLabel('Role').inputValue()).toBe('Jurist');
  });

  it('tell in the form why they cannot be added', async () => {
    const { page } = ada;
    await page.route('**/v1/workspaces/*/agents', (route) =>
      route.request().method() === 'POST'
        ? route.fulfill({ status: 409, json: { code: 'agent_limit_reached', message: 'Agent limit reached.' } })
        : route.fallback(),
    );
    await page.getByRole('button', { name: 'Add an agent' }).click();
    await page.keyboard.type('One more');
    await page.keyboard.press('Enter');
    await dialog().getByRole('alert').getByText('Agent limit reached.').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await dialog().waitFor({ state: 'detached' });
    await page.unrouteAll();
  });

  it('are deleted after a confirmation, and their conversations can then only be read', async () => {
    const { page } = ada;
    const { id } = await named('Solicitor');
    const conversations = `/v1/workspaces/${ada.workspace}/conversations`;
    const body = { type: 'agent', agent_id: id };
    const { data } = await ada.api<{ data: { id: string } }>('POST', conversations, body);
    await ada.api('POST', `${conversations}/${data.id}/messages`, { content: { type: 'text', text: 'May we?' } });
    await phone.goto(`${world.local.url}/w/${ada.workspace}/c/${data.id}`);
    await phone.getByRole('log').getByText('I am @tax-adviser.').waitFor();
    await box(phone).fill('A draft');

    await page.getByRole('button', { name: 'Delete Solicitor' }).click();
    expect(await violations(page)).toEqual([]);
    await shoot(page, 'delete-agent');
    await dialog().getByRole('button', { name: 'Delete', exact: true }).click();
    await agents(page)
      .getByRole('link', { name: /^Solicitor/ })
      .waitFor({ state: 'detached' });
    expect(await page.getByRole('button', { name: /^Delete/ }).count()).toBe(0);
    await eventually(focused, { until: (text) => text.startsWith('Manager') });

    await phone.getByText('Solicitor was deleted. You can read this conversation, but not continue it.').waitFor();
    expect(await box(phone).count()).toBe(0);
    await phone.getByRole('log').getByRole('heading', { name: 'Solicitor' }).waitFor();
    expect(await violations(phone)).toEqual([]);
    await shoot(phone, 'deleted-agent');
  });

  it('give way to the manager when another device deletes the shown one', async () => {
    const { page } = ada;
    const { data } = await ada.api<{ data: Agent }>('POST', `/v1/workspaces/${ada.workspace}/agents`, {
      name: 'Brief',
    });
    await agents(page)
      .getByRole('link', { name: /^Brief/ })
      .click();
    await page.getByRole('button', { name: 'Delete Brief' }).click();
    await ada.api('DELETE', `/v1/agents/${data.id}`);
    await page.getByRole('heading', { name: 'Manager', exact: true }).waitFor();
    await dialog().waitFor({ state: 'detached' });
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Manager');
  });
});
