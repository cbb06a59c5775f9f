import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWith } from '@uswarm/testkit';
import { openNewConversation } from '@uswarm/testkit/page-walk';
import type { Page } from 'playwright-core';
import { ask, type PageFixture, signInAs, startPage, violations } from './page.js';

/** Milliseconds per word, slow enough to see an answer being written. */
const DELAY = '12';

describeWith('chromium', 'a conversation on the page', () => {
  let fixture: PageFixture;
  let page: Page;
  let problems: string[];
  beforeAll(async () => {
    fixture = await startPage({ USWARM_DEMO_DELAY_MS: DELAY });
    ({ page, problems } = await fixture.signIn('Ida'));
  });
  afterAll(() => fixture?.stop());

  const log = () => page.getByRole('log', { name: 'Messages' });
  const complete = () => page.getByText('The answer is complete.').waitFor({ state: 'attached' });
  const firstRun = () =>
    page
      .getByRole('link', { name: 'uswarm: all workspaces' })
      .click()
      .then(() => page.getByRole('link', { name: /^My workspace/ }).click());

  it('shows three agents at work, and their results', async () => {
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: /Delegate to three agents/ }).click();
    for (const agent of ['Researcher', 'Analyst', 'Writer'])
      await log().getByText(agent, { exact: true }).first().waitFor();
    await log()
      .getByText(/The results of my delegations/)
      .waitFor();
    await complete();
    expect(await log().getByText('@writer reports').count()).toBe(1);
    expect(await violations(page)).toEqual([]);
    expect(problems).toEqual([]);
  });

  it('indents the task that a sub-agent gives to another agent', async () => {
    await openNewConversation(page);
    await ask(page, 'show me a nested delegation');
    await log().getByText('Analyst', { exact: true }).waitFor();
    const left = async (task: RegExp): Promise<number> =>
      (await log().getByRole('article').filter({ hasText: task }).first().boundingBox())!.x;
    expect(await left(/Researcher.*Analyst/)).toBeGreaterThan(await left(/Manager.*Researcher/));
  });

  it('shows an approval on each device, and the decision of one on the other', async () => {
    await firstRun();
    await page.getByRole('button', { name: /Ask me before you act/ }).click();
    const cardOn = (device: Page) => device.getByRole('region', { name: /^Approve\?/ });
    await cardOn(page).getByText('Waits for you').waitFor();
    expect(await violations(page)).toEqual([]);
    const { page: second } = await fixture.signIn('Ida', { path: new URL(page.url()).pathname });
    await second.getByRole('link', { name: 'Waiting for me: 1' }).waitFor();
    await cardOn(second).getByRole('button', { name: 'Approve' }).click();
    await cardOn(page).getByText('Chosen: Approve').waitFor();
    await cardOn(second).getByText('You chose: Approve').waitFor();
    await log()
      .getByText(/You approved the call/)
      .waitFor();
    await page.getByRole('link', { name: 'Waiting for me: 0' }).waitFor();
    await second.context().close();
  });

  it('lists a decision under “Waiting for me”, where it can be made', async () => {
    await openNewConversation(page);
    await ask(page, 'show me a card');
    await page.getByRole('link', { name: 'Waiting for me: 1' }).click();
    const card = page.getByRole('region', { name: 'How should we continue?' });
    await card.waitFor();
    expect(await violations(page)).toEqual([]);
    await card.getByRole('button', { name: 'Start over' }).click();
    await page.getByRole('heading', { name: 'Nothing waits for you' }).waitFor();
    await page.goBack();
  });

  it('opens a document beside the conversation', async () => {
    await openNewConversation(page);
    await ask(page, 'show me an artifact');
    await log()
      .getByRole('link', { name: /Tea party/ })
      .last()
      .click();
    await page.waitForURL(/[?]panel=artifact&artifact=/);
    const panel = page.getByRole('complementary', { name: 'Details' });
    await panel.waitFor();
    expect((await panel.boundingBox())!.x).toBeGreaterThan((await log().boundingBox())!.x);
  });

  it('shows the steps of a workflow until all are done', async () => {
    await openNewConversation(page);
    await ask(page, 'show me a workflow');
    const workflow = page.getByRole('region', { name: /^Workflow/ });
    await workflow.getByText(/^running · \d of 4$/).waitFor();
    await workflow.getByText('completed · 4 of 4').waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it('continues an answer after a reload in the middle of it', async () => {
    await openNewConversation(page);
    await ask(page, 'show me a long answer');
    await log().getByText('The leaves are picked by hand').first().waitFor();
    await page.reload();
    // The text so far appears, although the page was not open when it was written.
    await log().getByText('The leaves are picked by hand').first().waitFor();
    await page.getByRole('button', { name: 'Stop the answer' }).waitFor();
    await complete();
    await log().getByRole('link', { name: 'link (tea.example)' }).waitFor();
    expect(await log().getByRole('table').count()).toBeGreaterThan(0);
    expect(await violations(page)).toEqual([]);
  });

  it('stops an answer, and keeps what was written', async () => {
    await openNewConversation(page);
    await ask(page, 'show me a long answer');
    await log().getByText('The leaves are picked by hand').first().waitFor();
    await page.getByRole('button', { name: 'Stop the answer' }).click();
    await log().getByText('Stopped.').waitFor();
    expect(await log().getByText('The leaves are picked by hand').count()).toBeGreaterThan(0);
  });

  it('tells how an answer ended that is not complete', async () => {
    await openNewConversation(page);
    await ask(page, 'show me a failure');
    await log()
      .getByText(/^The model is unavailable/)
      .waitFor();
    await log().getByRole('button', { name: 'Try again' }).waitFor();
    await ask(page, 'show me an incomplete answer');
    await log().getByText('The answer reached the length limit of the model.').waitFor();
    await ask(page, 'show me a refusal');
    await log().getByText('The model declined to answer.').waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it('keeps messages without a network, and sends them afterwards', async () => {
    await openNewConversation(page);
    await page.context().setOffline(true);
    await page.getByText(/^Offline since/).waitFor();
    await ask(page, 'help');
    await log().getByText('Waits for the network').waitFor();
    await page.getByText(/^Offline since .*, 1 waiting$/).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.context().setOffline(false);
    await log().getByText('I am the demo model').waitFor();
  });

  it('keeps the draft when the session is ended on another device', async () => {
    await openNewConversation(page);
    await page.getByRole('textbox', { name: 'Message' }).fill('half a thought');
    const headers = { 'x-token': await fixture.local.token('Ida') };
    const answer = await fetch(`${fixture.local.url}/v1/auth/logout-all`, { method: 'POST', headers });
    expect(answer.status).toBe(204);
    await page.getByRole('alert').getByText('What you wrote is kept.').waitFor();
    expect(await violations(page)).toEqual([]);
    await signInAs(page, 'Ida');
    expect(await page.getByRole('textbox', { name: 'Message' }).inputValue()).toBe('half a thought');
  });
});
