import { AxeBuilder } from '@axe-core/playwright';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createClient } from '@uswarm/client';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import type { Page } from 'playwright-core';
import { type PageFixture, startPage, transitionsEnd } from './page.js';

async function violations(page: Page): Promise<string[]> {
  await transitionsEnd(page);
  const axe = new AxeBuilder({ page }).include('aside section');
  return (await axe.analyze()).violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

describeWith('chromium', 'the time line of an answer', () => {
  let fixture: PageFixture;
  beforeAll(async () => {
    fixture = await startPage();
  });
  afterAll(() => fixture?.stop());

  /** Lets the demo model give a task to another agent. @returns the panel path for its answer */
  async function delegated(name: string): Promise<string> {
    const { url } = fixture.local;
    const client = createClient({ url, token: () => fixture.local.token(name) });
    await client.api.post('/v1/auth/sign-up');
    const { data: workspaces } = await client.api.get('/v1/workspaces');
    const workspaceId = workspaces[0]?.id ?? '';
    const { data: conversations } = await client.api.get('/v1/workspaces/{workspaceId}/conversations', {
      path: { workspaceId },
    });
    const path = { workspaceId, id: conversations[0]?.id ?? '' };
    const messages = '/v1/workspaces/{workspaceId}/conversations/{id}/messages';
    await client.api.post(messages, { path, body: { content: { type: 'text', text: 'Delegate to writer' } } });
    const answered = async () => {
      const { data } = await client.api.get(messages, { path });
      return data.find(({ content }) => content.type === 'text' && String(content.text).includes('reports'));
    };
    const answer = await eventually(answered, { until: (found) => found !== undefined });
    await client.close();
    return `/w/${workspaceId}/c/${path.id}?panel=timeline&turn=${answer?.turn_id}`;
  }

  it('shows what the agent did, the result of a call, and what the other agent did', async () => {
    const path = await delegated('Grace');
    const { page, problems } = await fixture.signIn('Grace', { path });
    const panel = page.getByRole('region', { name: 'What happened' });
    await panel.getByText('Completed', { exact: true }).waitFor();
    expect(await violations(page)).toEqual([]);
    const models = panel.getByRole('button', { name: /^Thinking/ });
    const before = await models.count();

    await panel.getByRole('button', { name: /^delegate/ }).click();
    await panel.getByText('Arguments', { exact: true }).waitFor();
    await panel.getByRole('button', { name: /^Writer/ }).click();
    await eventually(() => models.count(), { until: (count) => count > before });
    expect(await violations(page)).toEqual([]);

    await panel.getByRole('link', { name: 'Close the details' }).click();
    await panel.waitFor({ state: 'detached' });
    expect(problems).toEqual([]);
  });
});
