import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { openNewConversation } from '@uswarm/testkit/page-walk';
import type { Page } from 'playwright-core';
import { alter, interposeSocket, refuse } from './altered.js';
import { ask, type PageFixture, startPage, violations } from './page.js';

describeWith('chromium', 'the state of a workspace and of the connection', () => {
  let fixture: PageFixture;
  beforeAll(async () => {
    fixture = await startPage();
    // Her runtime has settled, so no later event brings its real state.
    const { page } = await fixture.signIn('Rita');
    await page.getByRole('link', { name: 'uswarm: all workspaces' }).click();
    await page.getByRole('link', { name: /^My workspace/ }).click();
    await openNewConversation(page);
    await ask(page, 'help');
    await page.getByText('I am the demo model').first().waitFor();
    await page.context().close();
  });
  afterAll(() => fixture?.stop());

  /** A page whose workspaces have this runtime in all answers; without one, there are none. */
  async function withRuntime(name: string, runtime?: { status: string; phase: string }): Promise<Page> {
    const { page } = await fixture.open();
    await alter(page, /\/v1\/workspaces(\/[^/]+)?$/, (body) => {
      for (const workspace of [body['data']].flat() as { runtime: object }[]) Object.assign(workspace.runtime, runtime);
      if (runtime === undefined) body['data'] = [];
    });
    await page.getByLabel('Or under another name').fill(name);
    await page.getByRole('button', { name: 'Continue', exact: true }).click();
    await page.getByRole('button', { name: /^Account of/ }).waitFor();
    await page.getByRole('link', { name: 'uswarm: all workspaces' }).click();
    return page;
  }

  it('teaches what a workspace is while there is none', async () => {
    const page = await withRuntime('Nina');
    await page.getByRole('heading', { name: 'There is no workspace yet' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.context().close();
  });

  it.each([
    ['waits for its start', 'provisioning', 'Pending', 'Waits for its start', /^The first message starts the agents/m],
    [
      'starts',
      'provisioning',
      'Progressing',
      'Starting',
      /^\s*The agents start\. Messages are answered .* \(\d\d+ s\)$/m,
    ],
    ['sleeps', 'offline', 'Pending', 'Sleeping', /^The next message wakes the agents/m],
    ['failed', 'failed', 'Error', 'Failed', /^The agents did not start\. The operator was told/m],
  ])('reports that a runtime %s, in the list and in the conversation', async (_, status, phase, label, note) => {
    const page = await withRuntime('Rita', { status, phase });
    await page
      .getByRole('link', { name: /^My workspace/ })
      .getByText(label)
      .waitFor();
    expect(await violations(page)).toEqual([]);
    await page.clock.install();
    await page.getByRole('link', { name: /^My workspace/ }).click();
    await openNewConversation(page);
    await page.getByRole('textbox', { name: 'Message' }).waitFor();
    await page.clock.runFor(12_000);
    const shown = (): Promise<string> => page.evaluate('document.body.innerText');
    await eventually(shown, { until: (text) => note.test(text) });
    expect(await violations(page)).toEqual([]);
    await page.context().close();
  });

  it('reports that the plan has no more workspaces', async () => {
    const { page } = await fixture.signIn('Lima');
    await page.getByRole('link', { name: 'uswarm: all workspaces' }).click();
    await refuse(page, /\/v1\/workspaces$/, 409, 'workspace_limit_reached');
    await page.getByLabel('New workspace').fill('Another');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByText('You have all workspaces of your plan').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.context().close();
  });

  it('follows what another device creates and deletes', async () => {
    const { page } = await fixture.signIn('Paul');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'uswarm: all workspaces' }).click();
    const headers = { 'x-token': await fixture.local.token('Paul'), 'content-type': 'application/json' };
    const url = `${fixture.local.url}/v1/workspaces`;
    const created = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ name: 'Second' }) });
    const { data } = (await created.json()) as { data: { id: string } };
    await page.getByRole('link', { name: /^Second/ }).waitFor();
    expect((await fetch(`${url}/${data.id}`, { method: 'DELETE', headers })).ok).toBe(true);
    await page.getByRole('link', { name: /^Second/ }).waitFor({ state: 'detached' });
    await page.context().close();
  });

  it('shows what is known while the service cannot be reached, and since when', async () => {
    const { page } = await fixture.signIn('Olga');
    await page.getByRole('link', { name: 'uswarm: all workspaces' }).click();
    await page.getByRole('link', { name: /^My workspace/ }).waitFor();
    await page.context().setOffline(true);
    await page.getByText(/^Offline since/).waitFor();
    await page.getByRole('link', { name: /^My workspace/ }).click();
    await page.getByRole('heading', { name: 'My workspace' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.context().setOffline(false);
    await page.getByText('Live', { exact: true }).waitFor();
    await page.context().close();
  });

  it('reports that a newer device replaced this one, or that the service restarts', async () => {
    const { page } = await fixture.open();
    const send = await interposeSocket(page.context());
    await page.getByRole('button', { name: 'Continue as Ada' }).click();
    await page.getByText('Live', { exact: true }).waitFor();
    send('session.ending', { code: 'server_leaving', reconnect: true, in_ms: 0 });
    await page.context().setOffline(true);
    await page.getByText('The service restarts, back in some seconds').waitFor();
    await page.context().setOffline(false);
    await page.getByText('Live', { exact: true }).waitFor();
    send('session.ending', { code: 'too_many_sockets', reconnect: false, in_ms: 0 });
    await page.getByText('Replaced by a newer device').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.context().close();
  });
});
