import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { byTier } from '@uswarm/testkit/tier';
import { alter } from './altered.js';
import { ask, signInAs, violations } from './page.js';
import { type SearchServer, startSearchServer } from './search-server.js';
import { type Person, report, startWorld, type World } from './world.js';

/** `watched(word)` returns the ms from the first socket event with the word until the page showed it. */
const WATCH = `
  const [received, shown] = [new Map(), new Map()];
  const note = (times, text) => {
    for (const [word] of text.matchAll(/Begin\\d+/g)) if (!times.has(word)) times.set(word, performance.now());
  };
  globalThis.WebSocket = class extends WebSocket {
    constructor(...given) {
      super(...given);
      this.addEventListener('message', ({ data }) => note(received, String(data)));
    }
  };
  new MutationObserver(() => note(shown, document.querySelector('[role=log]')?.textContent ?? ''))
    .observe(document, { subtree: true, childList: true, characterData: true });
  globalThis.watched = (word) => shown.get(word) - received.get(word);
`;

describeWith('chromium', 'messages of agents', () => {
  let world: World;
  let search: SearchServer;
  let ada: Person;
  beforeAll(async () => {
    search = await startSearchServer();
    world = await startWorld({ SVC_SEARCH_ENDPOINT: search.url });
    ada = await world.person('Ada');
  });
  beforeEach(async () => {
    world.behave = () => [{ text: 'Done.' }];
    await ada.converse();
    await ada.visit(`/w/${ada.workspace}/c/${ada.conversation}`);
    await ada.page.getByRole('form', { name: 'Write a message' }).waitFor();
  });
  afterAll(async () => {
    await world?.stop();
    await search?.close();
  });

  const log = () => ada.page.getByRole('log', { name: 'Messages' });

  it('show the same text to a device that joins while they are written', async () => {
    world.behave = () => [{ text: 'Half of ' }, { hold: 'late' }, { text: 'the answer.' }];
    await ask(ada.page, 'Answer');
    await log().getByText('Half of').waitFor();
    const { page: second } = await world.signIn('Ada', { path: new URL(ada.page.url()).pathname });
    const text = second.getByRole('log', { name: 'Messages' }).getByText('Half of');
    await text.waitFor();
    expect(await violations(second)).toEqual([]);
    world.model.release('late');
    for (const page of [ada.page, second]) await page.getByRole('log').getByText('Half of the answer.').waitFor();
    await second.context().close();
  });

  it('say that an agent chose to be silent, or gave the question to another agent', async () => {
    world.behave = (agent, prompt) => {
      const tool = (name: string, input: object) => [{ toolCalls: [{ name, arguments: input }] }];
      if (agent !== 'manager') return [{ text: 'I take over.' }];
      return prompt.includes('Give') ? tool('hand_over', { agent: 'researcher' }) : tool('stay_silent', {});
    };
    await ask(ada.page, 'Be silent');
    await log().getByText('Manager has nothing to add for now.').waitFor();
    await ask(ada.page, 'Give it to the researcher');
    await log().getByText('I take over.').waitFor();
    expect(await violations(ada.page)).toEqual([]);
  });

  it('are not asked for when the limit of the month is reached', async () => {
    await ada.ask('First');
    await log().getByText('Done.').waitFor();
    const budget = (monthly_tokens: number | null) =>
      ada.api('PATCH', `/v1/workspaces/${ada.workspace}/budget`, { monthly_tokens });
    await budget(1);
    await ask(ada.page, 'Second');
    const refusal = log().getByRole('alert');
    await refusal.getByText('Not sent. Your token limit of this month is reached.').waitFor();
    expect(await violations(ada.page)).toEqual([]);
    await budget(null);
    await refusal.getByRole('button', { name: 'Delete' }).click();
  });

  it('show a call of a tool while it runs, its time when that is long, and that it failed', async () => {
    world.behave = (_agent, _prompt, results) =>
      results.length < 2
        ? [{ toolCalls: [{ name: 'web_search_tool', arguments: { query: `tea ${results.length}` } }] }]
        : [{ text: 'Tea.' }];
    const { page } = ada;
    await ask(page, 'Search');
    await search.asked();
    const tools = log().locator('details');
    await tools.getByText('Running:').first().waitFor();
    expect(await tools.getAttribute('open')).not.toBeNull();
    await page.clock.install({ time: Date.now() + 12_000 });
    await tools
      .getByText(/^1[2-9] s$/)
      .first()
      .waitFor();
    expect(await violations(page)).toEqual([]);
    search.answer(200);
    await search.asked();
    search.answer(500);
    await log().getByText('Tea.').waitFor();
    await tools.getByText('2 steps, 1 failed').waitFor();
    await tools.locator('summary').click();
    expect(await tools.getByText(/^\d+(\.\d)? s$/).count()).toBe(3);
    expect(await violations(page)).toEqual([]);
  });

  it('show content of a later release as text, with a hint', async () => {
    await ada.ask('Vote');
    await log().getByText('Done.').waitFor();
    const { page } = await world.open();
    await alter(page, /\/messages$/, ({ data }) => {
      const answer = (data as { role: string; content: object }[]).find(({ role }) => role === 'agent');
      if (answer) answer.content = { type: 'poll', text: 'Which tea?' };
    });
    await signInAs(page, 'Ada');
    await page.evaluate(`history.pushState(null, '', '/w/${ada.workspace}/c/${ada.conversation}')`);
    await page.getByRole('log').getByText('Which tea?').waitFor();
    await page.getByText('A newer version of the page shows more of this message (poll).').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.context().close();
  });

  it('show an answer that was interrupted because its runtime ended, and repeat it', async () => {
    world.behave = () => [{ text: 'Half of ' }, { hold: 'lost' }, { text: 'the answer.' }];
    const { requests } = world.model;
    let [known, ended] = [requests.length, 0];
    await ada.ask('Answer');
    for (const _ of ['first', 'second']) {
      await eventually(() => Promise.resolve(requests.length), { until: (count) => count > known });
      known = requests.length;
      const sql = 'SELECT pid FROM runtime_processes WHERE workspace_id = $1 AND pid <> $2';
      const running = () => world.local.query<{ pid: number }>(sql, [ada.workspace, ended]);
      [{ pid: ended } = { pid: 0 }] = await eventually(running, { until: ({ length }) => length > 0 });
      await log().getByText('Half of').waitFor();
      process.kill(ended, 'SIGKILL');
    }
    await log().getByText('The reply was interrupted twice. Please try again.').waitFor();
    expect(await violations(ada.page)).toEqual([]);
    world.behave = () => [{ text: 'All of it.' }];
    await log().getByRole('button', { name: 'Try again' }).click();
    await log().getByText('All of it.').waitFor();
  });

  it('are visible soon after their first part arrives, and leave no memory behind', async () => {
    const { page } = await world.open();
    await page.addInitScript(WATCH);
    await signInAs(page, 'Ada');
    await page.evaluate(`history.pushState(null, '', '/w/${ada.workspace}/c/${ada.conversation}')`);
    const devtools = await page.context().newCDPSession(page);
    async function mebibytes(): Promise<number> {
      await devtools.send('HeapProfiler.collectGarbage');
      return (await devtools.send('Runtime.getHeapUsage')).usedSize / 1024 ** 2;
    }
    const words = Array.from({ length: 2_000 }, (_, n) => ({ text: n % 25 === 24 ? ' tea.\n\n' : ' tea' }));
    const figures = { visible_ms: [] as number[], heap_mib: [] as number[] };
    for (let round = 0; round < byTier({ core: 4, all: 20 }); round += 1) {
      world.behave = () => [{ text: `Begin${round}.` }, ...words, { text: ` End${round}.` }];
      await ask(page, 'Write much');
      await page.getByRole('log').getByText(`End${round}.`).waitFor();
      await page.getByText('The answer is complete.').waitFor({ state: 'attached' });
      figures.visible_ms.push(await page.evaluate<number>(`watched('Begin${round}')`));
      figures.heap_mib.push(await mebibytes());
    }
    await report('page-answers', figures);
    expect(figures.visible_ms.every((ms) => ms >= 0)).toBe(true);
    // The texts have 10 KiB each.
    const [, first = 0] = figures.heap_mib;
    expect(figures.heap_mib.at(-1)! - first).toBeLessThan(figures.heap_mib.length);
    await page.context().close();
  });

  it('are marked as read although the page knows their number before it has loaded them', async () => {
    const { page } = ada;
    await ada.visit(`/w/${ada.workspace}/usage`);
    await ada.converse();
    const path = `/v1/workspaces/${ada.workspace}/conversations/${ada.conversation}`;
    const unread = () => ada.api<{ data: { unread_count: number } }>('GET', path).then(({ data }) => data.unread_count);
    await ada.ask('Hello');
    await page.getByRole('link', { name: /1 unread/ }).waitFor();
    await page.route('**/messages?limit=*', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 500));
      await route.fallback();
    });
    await page.getByRole('link', { name: /1 unread/ }).click();
    expect(await eventually(unread, { until: (count) => count === 0 })).toBe(0);
    await page.unrouteAll({ behavior: 'wait' });
  });
});
