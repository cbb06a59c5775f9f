import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWith } from '@uswarm/testkit';
import { startChromium } from '@uswarm/testkit/chromium';
import { developmentToken, startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { build } from 'esbuild';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { type RunningProgram, runLocalMode } from '../test/local.js';

/** The app: its messages are `window.shown`, as texts with their states. */
const APP = `
import { createClient } from '@uswarm/client';
import { indexedDb } from '@uswarm/client/indexed-db';
window.app = () => window;
window.start = async ({ url, token, workspaceId, conversationId, transport }) => {
  const client = createClient({ url, token: () => token, transport, store: indexedDb('app') });
  window.client = client;
  window.chat = client.workspace(workspaceId).conversation(conversationId);
  window.progress = [];
  client.outbox.subscribe((items) => window.progress.push(...items.map((item) => item.progress)));
  window.shown = () => chat.messages.get().filter(({ role }) => role === 'user').map(({ text, local }) => text + (local ? ' (waits)' : ''));
  await client.start();
};`;
const PAGE = 'http://localhost:9/';
const TEXTS = ['first', 'second', 'third'];

interface App {
  start(options: object): Promise<void>;
  shown(): string[];
  chat: { send(message: { text: string; files?: File[] }): Promise<string> };
  /** Each upload progress that the app has seen for an unsent message. */
  progress: number[];
  client: { connection: { get(): { state: string } }; workspaces: { get(): { name: string }[] } };
}
/** Functions that run in the page call it. */
declare function app(): App;

describeWith('chromium', 'a page with @uswarm/client', () => {
  let local: RunningProgram;
  let browser: Browser;
  let script: string;

  beforeAll(async () => {
    local = await runLocalMode();
    browser = await startChromium();
    const { outputFiles } = await build({
      stdin: { contents: APP, resolveDir: join(import.meta.dirname, '../../../packages/client') },
      bundle: true,
      format: 'esm',
      write: false,
      conditions: ['uswarm-source'],
    });
    script = outputFiles[0]!.text;
  });
  afterAll(async () => {
    await browser?.close();
    await local?.stop();
  });

  /** The page is on the device: it can be opened without a network. */
  async function openPage(context: BrowserContext): Promise<Page> {
    const page = await context.newPage();
    await page.route(`${PAGE}**`, (route) =>
      route.fulfill({ contentType: 'text/html', body: `<!doctype html><script type="module">${script}</script>` }),
    );
    await page.goto(PAGE);
    return page;
  }

  it.each(['socket', 'sse'])(
    'sends what was written offline once and in order, after a reload, with %s',
    async (transport) => {
      const token = await developmentToken(local.issuer, `${randomUUID()}@example.com`);
      const observer: TestClient = await startTestClient({ restUrl: local.url, socketUrl: local.url, token });
      const { workspaceId, conversationId } = observer;
      const options = { url: local.url, token, workspaceId, conversationId, transport };
      const context = await browser.newContext();
      const page = await openPage(context);
      await page.evaluate((given) => app().start(given), options);
      await page.waitForFunction(() => app().client.connection.get().state === 'live');

      await context.setOffline(true);
      await page.waitForFunction(() => app().client.connection.get().state === 'offline');
      for (const text of TEXTS) await page.evaluate((given) => void app().chat.send({ text: given }), text);
      await page.waitForFunction((count) => app().shown().length === count, TEXTS.length);
      await page.reload();
      await page.evaluate((given) => app().start(given), options);
      expect(await page.evaluate(() => app().shown())).toEqual(TEXTS.map((text) => `${text} (waits)`));

      await context.setOffline(false);
      await page.waitForFunction((texts) => app().shown().join() === texts, TEXTS.join());
      const { body } = await observer.api(
        'GET',
        `/v1/workspaces/${workspaceId}/conversations/${conversationId}/messages?direction=forward`,
      );
      const messages = (body as { data: { role: string; content: { text: string } }[] }).data;
      expect(messages.flatMap(({ role, content }) => (role === 'user' ? [content.text] : []))).toEqual(TEXTS);
      await context.close();
      observer.close();
    },
  );

  it.each(['socket', 'sse'])(
    'shows a workspace that another device creates between its list and its connection, with %s',
    async (transport) => {
      const token = await developmentToken(local.issuer, `${randomUUID()}@example.com`);
      const other: TestClient = await startTestClient({ restUrl: local.url, socketUrl: local.url, token });
      const { workspaceId, conversationId } = other;
      const context = await browser.newContext();
      const page = await openPage(context);
      await page.route(
        `${local.url}/v1/workspaces`,
        async (route) => {
          const response = await route.fetch();
          expect((await other.api('POST', '/v1/workspaces', { name: 'Garden' })).status).toBe(201);
          await route.fulfill({ response });
        },
        { times: 1 },
      );
      const options = { url: local.url, token, workspaceId, conversationId, transport };
      await page.evaluate((given) => app().start(given), options);
      await page.waitForFunction(() => {
        const { client } = app();
        return (
          client.connection.get().state === 'live' && client.workspaces.get().some(({ name }) => name === 'Garden')
        );
      });
      await context.close();
      other.close();
    },
  );

  it('shows how much of a file is uploaded before its message is sent', async () => {
    const token = await developmentToken(local.issuer, `${randomUUID()}@example.com`);
    const observer: TestClient = await startTestClient({ restUrl: local.url, socketUrl: local.url, token });
    const { workspaceId, conversationId } = observer;
    const context = await browser.newContext();
    const page = await openPage(context);
    const options = { url: local.url, token, workspaceId, conversationId, transport: 'socket' };
    await page.evaluate((given) => app().start(given), options);
    await page.waitForFunction(() => app().client.connection.get().state === 'live');
    const network = await context.newCDPSession(page);
    const slow = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 1_000_000 };
    await network.send('Network.emulateNetworkConditions', slow);

    await page.evaluate(() => {
      const file = new File(['The harvest of tea. '.repeat(50_000)], 'tea.txt', { type: 'text/plain' });
      return app().chat.send({ text: 'Read this', files: [file] });
    });

    const progress = await page.evaluate(() => app().progress);
    expect(progress).toEqual(progress.toSorted((one, other) => one - other));
    expect(progress.filter((part) => part > 0 && part < 1)).not.toEqual([]);
    const sent = await observer.shown(({ role }) => role === 'user');
    expect(sent.attachments).toEqual([expect.objectContaining({ name: 'tea.txt', size: 1_000_000 })]);
    await context.close();
    observer.close();
  });
});
