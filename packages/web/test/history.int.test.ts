import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { openNewConversation } from '@uswarm/testkit/page-walk';
import { byTier } from '@uswarm/testkit/tier';
import type { Page } from 'playwright-core';
import { interposeSocket } from './altered.js';
import { ask, signInAs, violations } from './page.js';
import { type Person, shoot, startWorld, type World } from './world.js';

const MESSAGES = byTier({ core: 1_500, all: 10_000 });
/** More nodes make a page slow. */
const MOST_NODES = 200;

describeWith('chromium', 'the history of a conversation', () => {
  let world: World;
  let ada: Person;
  let page: Page;
  /** Message ids, oldest first. */
  let ids: string[];
  beforeAll(async () => {
    world = await startWorld();
    ada = await world.person('Ada');
    // Stored without events, so that a new device must load the messages.
    await ada.page.context().close();
    ids = await fill(MESSAGES);
    ({ page } = await world.signIn('Ada', { path: path() }));
    await text(page, `Message ${MESSAGES} `).waitFor();
  });
  afterAll(() => world?.stop());

  const path = () => `/w/${ada.workspace}/c/${ada.conversation}`;
  const logOf = (device: Page) => device.getByRole('log', { name: 'Messages' });
  const text = (device: Page, words: string) => logOf(device).getByText(words).first();
  async function open(query = ''): Promise<void> {
    await page.goto(`${world.local.url}${path()}${query}`);
    await logOf(page).waitFor();
  }
  /** Stores messages from past days; the manager wrote every other one. @returns their ids */
  async function fill(count: number): Promise<string[]> {
    await ada.converse();
    const sql = `
      WITH place AS (
        UPDATE workspaces SET last_seq = last_seq + $3 WHERE id = $1
        RETURNING last_seq - $3 AS before, (SELECT id FROM agents WHERE workspace_id = $1 AND slug = 'manager') AS agent
      ), filled AS (
        INSERT INTO messages (id, workspace_id, conversation_id, seq, role, agent_id, status, content, created_at)
        SELECT gen_random_uuid(), $1, $2, before + n, CASE WHEN n % 2 = 1 THEN 'user' ELSE 'agent' END,
          CASE WHEN n % 2 = 0 THEN agent END, CASE WHEN n % 2 = 1 THEN 'read' ELSE 'sent' END,
          jsonb_build_object('type', 'text', 'text', 'Message ' || n || ' ' || repeat('about tea, ', n % 23)),
          now() - interval '3 hours' - ($3 - n) * interval '40 seconds'
        FROM place, generate_series(1, $3::int) n
        RETURNING id, workspace_id, seq
      ), logged AS (
        INSERT INTO workspace_events (workspace_id, seq, type, subject_id, published_at)
        SELECT workspace_id, seq, 'message.new', id, now() FROM filled
      )
      SELECT id FROM filled ORDER BY seq`;
    const rows = await world.local.query<{ id: string }>(sql, [ada.workspace, ada.conversation, count]);
    return rows.map(({ id }) => id);
  }
  const visit = (to: string): Promise<void> => page.evaluate(`history.pushState(null, '', '${to}')`);
  const nodes = (): Promise<number> => logOf(page).getByRole('article').count();

  it('is shown with few nodes while the user scrolls from the end to the start, which is marked', async () => {
    let most = 0;
    await logOf(page).hover();
    const first = logOf(page).getByText(/^Message 1 about/);
    while (!(await first.isVisible())) {
      await logOf(page).evaluate((log) => {
        (log as unknown as { scrollTop: number }).scrollTop = 0;
      });
      most = Math.max(most, await nodes());
    }
    await logOf(page).getByText('The conversation begins here.').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Go to the newest message' }).click();
    await text(page, `Message ${MESSAGES} `).waitFor();
    expect(Math.max(most, await nodes())).toBeLessThanOrEqual(MOST_NODES);
  });

  it('loads an older page without moving what is shown', async () => {
    const { page: second } = await world.signIn('Ada', { path: path() });
    await text(second, `Message ${MESSAGES} `).waitFor();
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    await second.route(/[?&]scrollId=/, async (route) => {
      asked.resolve();
      await answer.promise;
      await route.fallback();
    });
    await logOf(second).press('Home');
    await asked.promise;
    await second.getByText('Loading older messages').waitFor({ state: 'attached' });
    const shown = text(second, `Message ${MESSAGES - 44} `);
    const before = (await shown.boundingBox())!.y;
    answer.resolve();
    await second.getByText('Loading older messages').waitFor({ state: 'detached' });
    expect(Math.abs((await shown.boundingBox())!.y - before)).toBeLessThan(3);
    await second.context().close();
  });

  it('is searched, and the found message is shown and has the focus', async () => {
    const found = `Message ${MESSAGES - 400}`;
    await page.getByRole('link', { name: 'Search', exact: true }).click();
    const panel = page.getByRole('complementary', { name: 'Details' });
    await panel.getByLabel('Words in this conversation').fill(found);
    await page.keyboard.press('Enter');
    await panel.getByText(/^\d+ found$/).waitFor();
    expect(await violations(page)).toEqual([]);
    await panel
      .getByRole('link')
      .filter({ hasText: `${found} ` })
      .click();
    await text(page, `${found} `).waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).toContain(`${found} `);
    expect(await violations(page)).toEqual([]);
    await shoot(page, 'search');
    await page.getByRole('link', { name: 'Close the details' }).click();
  });

  it('opens at the message that a link names, also if it is not loaded yet', async () => {
    await open(`?message=${ids[MESSAGES - 300]}`);
    const target = logOf(page)
      .getByRole('article')
      .filter({ hasText: `Message ${MESSAGES - 299} ` });
    await target.waitFor();
    const hasFocus = () => target.evaluate((element) => element.ownerDocument.activeElement === element);
    expect(await eventually(hasFocus, { until: Boolean })).toBe(true);
  });

  it('reports that the message which a link names was deleted', async () => {
    await ada.converse();
    await ada.ask('Hello');
    await open('?message=00000000-0000-4000-8000-000000000000');
    await page.getByText('Message not found').waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it('marks the first unread message, and a pause of hours', async () => {
    await ada.converse();
    await ada.ask('Hello');
    await visit(path());
    await text(page, 'Hello.').waitFor();
    await visit(`/w/${ada.workspace}/usage`);
    const paused = `UPDATE messages SET created_at = created_at - interval '3 hours' WHERE conversation_id = $1`;
    await world.local.query(paused, [ada.conversation]);
    world.behave = () => [{ text: 'Unread.' }];
    await ada.ask('Again');
    await page
      .getByRole('link', { name: /1 unread/ })
      .first()
      .waitFor();
    // No event told the first device that its messages became older.
    const { page: second } = await world.signIn('Ada', { path: path() });
    await logOf(second).getByText('New', { exact: true }).waitFor();
    expect(await logOf(second).locator('[class*=pause]', { hasText: /\d/ }).count()).toBe(2);
    expect(await violations(second)).toEqual([]);
    await second.context().close();
  });

  it('has what was written while the page had no connection, once and in order', async () => {
    await ada.converse();
    await visit(path());
    await page.context().setOffline(true);
    await page.getByText(/^Offline since/).waitFor();
    const messages = `/v1/workspaces/${ada.workspace}/conversations/${ada.conversation}/messages`;
    for (const word of ['one', 'two']) {
      world.behave = () => [{ text: `Answer ${word}.` }];
      await ada.ask(`Question ${word}`);
      const stored = () => ada.api<object>('GET', messages).then((list) => JSON.stringify(list));
      await eventually(stored, { until: (list) => list.includes(`"Answer ${word}."`) });
    }
    await page.context().setOffline(false);
    await text(page, 'Answer two.').waitFor();
    const shown = await logOf(page)
      .getByText(/^(Question|Answer) (one|two)\.?$/)
      .allInnerTexts();
    expect(shown).toEqual(['Question one', 'Answer one.', 'Question two', 'Answer two.']);
  });

  it('is loaded again when events were lost, and reports it', async () => {
    const { page: second } = await world.open();
    const send = await interposeSocket(second.context());
    await second.getByLabel('Or under another name').fill('Ada');
    await second.getByRole('button', { name: 'Continue', exact: true }).click();
    await second.getByText('Live', { exact: true }).waitFor();
    await second.evaluate(`history.pushState(null, '', '${path()}')`);
    await text(second, 'Answer two.').waitFor();
    const answering = Promise.withResolvers<void>();
    await second.route(/\/v1\/workspaces\/[^/]+$/, async (route) => {
      await answering.promise;
      await route.fallback();
    });
    send('workspace.resync', { workspace_id: ada.workspace, in_ms: 0, reason: 'too_old', last_seq: 0, epoch: 'x' });
    await second.getByText('Loading what was missed…').waitFor();
    await text(second, 'Answer two.').waitFor();
    expect(await violations(second)).toEqual([]);
    answering.resolve();
    await second.getByText('Live', { exact: true }).waitFor();
    await text(second, 'Answer two.').waitFor();
    await second.context().close();
  });

  it('can be written as soon as it was created, although its event has not arrived', async () => {
    world.behave = () => [{ text: 'Hello.' }];
    const { page: second } = await world.open();
    await interposeSocket(second.context(), (packet) => packet.replace('"conversation.new"', '"conversation.later"'));
    await signInAs(second, 'Ada');
    await second.getByText('Live', { exact: true }).waitFor();
    await openNewConversation(second);
    await ask(second, 'Hi');
    await text(second, 'Hello.').waitFor();
    expect(await logOf(second).getByRole('article').count()).toBe(2);
    await second.context().close();
  });
});
