import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWith } from '@uswarm/testkit';
import type { Page } from 'playwright-core';
import { ask, type PageFixture, signInAs, startPage, violations } from './page.js';

/** Milliseconds per word, so that an answer can be seen while it is written. */
const DELAY = '25';

describeWith('chromium', 'a conversation on the page', () => {
  let fixture: PageFixture;
  beforeAll(async () => {
    fixture = await startPage({ USWARM_DEMO_DELAY_MS: DELAY });
  });
  afterAll(() => fixture?.stop());

  /** A new user, at the three prompts of the first workspace. */
  async function firstRun(name: string): Promise<{ page: Page; problems: string[] }> {
    const opened = await fixture.signIn(name);
    await opened.page.getByRole('link', { name: /^My workspace/ }).click();
    await opened.page.getByRole('heading', { name: `What should the swarm do, ${name}?` }).waitFor();
    return opened;
  }
  async function newConversation(name: string): Promise<{ page: Page; problems: string[] }> {
    const opened = await firstRun(name);
    await opened.page.getByRole('main').getByRole('button', { name: 'New conversation' }).click();
    await opened.page.getByRole('textbox', { name: 'Message' }).waitFor();
    return opened;
  }
  const log = (page: Page) => page.getByRole('log', { name: 'Messages' });
  const complete = (page: Page) => page.getByText('The answer is complete.').waitFor({ state: 'attached' });

  it('shows three agents at work, their results, and no violation or problem', async () => {
    const { page, problems } = await firstRun('Ida');
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: /Delegate to three agents/ }).click();
    for (const agent of ['Researcher', 'Analyst', 'Writer'])
      await log(page).getByText(agent, { exact: true }).first().waitFor();
    await log(page)
      .getByText(/The results of my delegations/)
      .waitFor();
    await complete(page);
    expect(await log(page).getByText('@writer reports').count()).toBe(1);
    expect(await violations(page)).toEqual([]);
    expect(problems).toEqual([]);
    await page.context().close();
  });

  it('indents the task that a sub-agent gives to another agent', async () => {
    const { page } = await newConversation('Nell');
    await ask(page, 'show me a nested delegation');
    await log(page).getByText('Analyst', { exact: true }).waitFor();
    const left = async (task: RegExp): Promise<number> =>
      (await log(page).getByRole('article').filter({ hasText: task }).first().boundingBox())!.x;
    expect(await left(/Researcher.*Analyst/)).toBeGreaterThan(await left(/Manager.*Researcher/));
    await page.context().close();
  });

  it('asks for an approval on each device, and shows the decision of one on the other', async () => {
    const { page: first } = await firstRun('Olga');
    await first.getByRole('button', { name: /Ask me before you act/ }).click();
    const card = (page: Page) => page.getByRole('region', { name: /^Approve\?/ });
    await card(first).getByText('Waits for you').waitFor();
    expect(await violations(first)).toEqual([]);
    const { page: second } = await fixture.signIn('Olga', { path: new URL(first.url()).pathname });
    await second.getByRole('link', { name: 'Waiting for me: 1' }).waitFor();
    await card(second).getByRole('button', { name: 'Approve' }).click();
    await card(first).getByText('Chosen: Approve').waitFor();
    await card(second).getByText('You chose: Approve').waitFor();
    await log(first)
      .getByText(/You approved the call/)
      .waitFor();
    await first.getByRole('link', { name: 'Waiting for me: 0' }).waitFor();
    await first.context().close();
    await second.context().close();
  });

  it('lists a decision under “Waiting for me”, where it can be made', async () => {
    const { page } = await newConversation('Wanda');
    await ask(page, 'show me a card');
    await page.getByRole('link', { name: 'Waiting for me: 1' }).click();
    const card = page.getByRole('region', { name: 'How should we continue?' });
    await card.waitFor();
    expect(await violations(page)).toEqual([]);
    await card.getByRole('button', { name: 'Start over' }).click();
    await page.getByRole('heading', { name: 'Nothing waits for you' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.context().close();
  });

  it('opens a document beside the conversation', async () => {
    const { page } = await firstRun('Doris');
    await page.getByRole('button', { name: /Write a document/ }).click();
    await log(page)
      .getByRole('link', { name: /Tea party/ })
      .last()
      .click();
    await page.waitForURL(/[?]panel=artifact&artifact=/);
    await page.getByRole('complementary', { name: 'Details' }).waitFor();
    await page.context().close();
  });

  it('continues an answer after a reload in the middle of it', async () => {
    const { page } = await newConversation('Rita');
    await ask(page, 'show me a long answer');
    await page.getByRole('button', { name: 'Stop the answer' }).waitFor();
    await log(page).getByText('The leaves are picked by hand').first().waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Stop the answer' }).waitFor();
    // The text so far is shown although the page was not open when it was written.
    await log(page).getByText('The leaves are picked by hand').first().waitFor();
    await complete(page);
    expect(await log(page).getByRole('link', { name: 'link (tea.example)' }).count()).toBe(1);
    expect(await log(page).getByRole('table').count()).toBeGreaterThan(0);
    await page.context().close();
  });

  it('stops an answer, and keeps what was written', async () => {
    const { page } = await newConversation('Stella');
    await ask(page, 'show me a long answer');
    await log(page).getByText('The leaves are picked by hand').first().waitFor();
    await page.getByRole('button', { name: 'Stop the answer' }).click();
    await log(page).getByText('Stopped.').waitFor();
    expect(await log(page).getByText('The leaves are picked by hand').count()).toBeGreaterThan(0);
    expect(await violations(page)).toEqual([]);
    await page.context().close();
  });

  it.each([
    ['Fay', 'show me a failure', 'Try again'],
    ['Iris', 'show me an incomplete answer', 'length limit'],
    ['Reba', 'show me a refusal', 'declined'],
  ])('tells how an answer ended for %s: %s', async (name, request, expected) => {
    const { page } = await newConversation(name);
    await ask(page, request);
    await log(page).getByText(expected).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.context().close();
  });

  it('keeps messages without a network, and sends them afterwards', async () => {
    const { page } = await newConversation('Olive');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.context().setOffline(true);
    await page.getByText(/^Offline since/).waitFor();
    await ask(page, 'help');
    await log(page).getByText('Waits for the network').waitFor();
    await page.getByText(/^Offline since .*, 1 waiting$/).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.context().setOffline(false);
    await log(page).getByText('I am the demo model').waitFor();
    await page.context().close();
  });

  it('keeps the draft when the session is ended on another device', async () => {
    const { page } = await newConversation('Dora');
    await page.getByRole('textbox', { name: 'Message' }).fill('half a thought');
    const headers = { 'x-token': await fixture.local.token('Dora') };
    const answer = await fetch(`${fixture.local.url}/v1/auth/logout-all`, { method: 'POST', headers });
    expect(answer.status).toBe(204);
    await page.getByRole('alert').getByText('What you wrote is kept.').waitFor();
    expect(await violations(page)).toEqual([]);
    await signInAs(page, 'Dora');
    await page.getByRole('textbox', { name: 'Message' }).waitFor();
    expect(await page.getByRole('textbox', { name: 'Message' }).inputValue()).toBe('half a thought');
    await page.context().close();
  });
});
