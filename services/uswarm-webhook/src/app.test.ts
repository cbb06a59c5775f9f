import { afterEach, describe, expect, it } from '@jest/globals';
import { createMetrics, listen, type RunningServer, silentLogger } from '@uswarm/service-kit';
import { settledRequest, syncRequest, testFacts, testSettings, userSwarm } from '../test/webhook-input.js';
import { createWebhookApp, type WebhookDeps } from './app.js';
import { createWebhookMetrics } from './metrics.js';
import { render } from './render/render.js';

const TOKEN = 't'.repeat(32);
const now = new Date('2030-01-01T00:00:00Z');
let server: RunningServer | undefined;

async function start(deps: Partial<WebhookDeps> = {}): Promise<string> {
  const app = createWebhookApp({
    syncToken: TOKEN,
    settings: testSettings(),
    logger: silentLogger,
    clock: { now: () => now },
    ...deps,
  });
  server = await listen(app, { host: '127.0.0.1', port: 0 });
  return server.url;
}

afterEach(async () => {
  await server?.close();
  server = undefined;
});

const post = (url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${url}/sync`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

describe('rotating SYNC_TOKEN', () => {
  const NEXT = 'n'.repeat(32);
  const statusWith = async (url: string, token: string): Promise<number> =>
    (await post(url, syncRequest(userSwarm()), { authorization: `Bearer ${token}` })).status;

  it('accepts controllers with the old and with the new token while both are configured, in either order', async () => {
    for (const deps of [
      { syncToken: TOKEN, previousSyncTokens: [NEXT] },
      { syncToken: NEXT, previousSyncTokens: [TOKEN] },
    ]) {
      const url = await start(deps);
      const statuses = [
        await statusWith(url, TOKEN),
        await statusWith(url, NEXT),
        await statusWith(url, 'x'.repeat(32)),
      ];
      expect(statuses).toEqual([200, 200, 401]);
      await server?.close();
    }
  });

  it('accepts the new token only once the old one is dropped', async () => {
    const url = await start({ syncToken: NEXT });
    expect([await statusWith(url, TOKEN), await statusWith(url, NEXT)]).toEqual([401, 200]);
  });
});

describe('POST /sync', () => {
  it('names its revision and when it started, to those who may ask', async () => {
    const url = await start({ version: { revision: 'abc', startedAt: now } });
    const { headers } = await post(url, syncRequest(userSwarm()));
    expect(headers.get('uswarm-webhook-revision')).toBe('abc');
    expect(headers.get('uswarm-webhook-started')).toBe('2030-01-01T00:00:00.000Z');
    const refused = await post(url, {}, { authorization: 'Bearer wrong' });
    expect(refused.headers.has('uswarm-webhook-revision')).toBe(false);
  });

  it('HOOK-001: reconciles: answers with what is rendered', async () => {
    const url = await start();
    const request = syncRequest(userSwarm());
    const response = await post(url, request);
    expect(response.status).toBe(200);
    const expected = render(request, testSettings(), await testFacts({ now }));
    expect(await response.json()).toEqual(JSON.parse(JSON.stringify(expected)));
  });

  it('HOOK-001: finalizes: answers without children, and is done once none is shown', async () => {
    const url = await start();
    const shown = { ...(await settledRequest(userSwarm())), finalizing: true };
    const waiting = await (await post(url, shown)).json();
    expect(waiting).toMatchObject({ status: { phase: 'Deleting' }, children: [], finalized: false });
    const done = await (await post(url, { ...syncRequest(userSwarm()), finalizing: true })).json();
    expect(done).toMatchObject({ children: [], finalized: true });
  });

  it.each([
    ['no token', { authorization: '' }],
    ['another token', { authorization: `Bearer ${'x'.repeat(32)}` }],
    ['a beginning of it', { authorization: `Bearer ${TOKEN.slice(1)}` }],
    ['another scheme', { authorization: `Basic ${TOKEN}` }],
  ])('401 with %s, before it looks at the body', async (_what, headers) => {
    const url = await start();
    const response = await post(url, '{', headers);
    expect(response.status).toBe(401);
    expect(await response.json()).toEqual({ error: 'a valid token is required' });
  });

  it.each([
    ['no JSON', '{'],
    ['nothing', ''],
    ['no object', '[]'],
    ['no parent', { ...syncRequest(userSwarm()), parent: undefined }],
    ['a parent without a name', { ...syncRequest(userSwarm()), parent: { metadata: { uid: 'u', generation: 1 } } }],
    ['a group of children missing', { ...syncRequest(userSwarm()), children: { 'Service.v1': {} } }],
    ['finalizing missing', { ...syncRequest(userSwarm()), finalizing: undefined }],
  ])('400 with a JSON error for %s', async (_what, body) => {
    const url = await start();
    const response = await post(url, body);
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({ error: expect.stringContaining('malformed') });
  });

  it('takes bodies of megabytes, and refuses larger ones', async () => {
    const url = await start();
    const request = syncRequest(userSwarm());
    const padded = (bytes: number): object => ({ ...request, controller: { padding: 'x'.repeat(bytes) } });
    expect((await post(url, padded(5 * 2 ** 20))).status).toBe(200);
    expect((await post(url, padded(9 * 2 ** 20))).status).toBe(413);
  });

  it('500 for a fault of its own, never an empty list of children', async () => {
    const url = await start({
      databaseState: () => {
        throw new Error('a fault');
      },
    });
    const response = await post(url, await settledRequest(userSwarm()));
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({ error: 'internal error' });
  });

  it('Error with the children kept for a fault of rendering, and nothing of the fault in the answer', async () => {
    const request = await settledRequest(userSwarm());
    const stores = [
      {
        name: 'SVC_DATABASE_HOST',
        get value(): string {
          throw new Error('holds a secret');
        },
      },
    ];
    const url = await start({ settings: { ...testSettings(), stores } });
    const answer = await (await post(url, request)).text();
    expect(JSON.parse(answer)).toMatchObject({
      status: { phase: 'Error' },
      children: [{ kind: 'ServiceAccount' }, { kind: 'Service' }, { kind: 'Deployment' }],
    });
    expect(answer).toContain('RenderingFailed');
    expect(answer).not.toContain('holds a secret');
  });

  it('counts by outcome, phase and reason', async () => {
    const registry = createMetrics('test');
    const url = await start({ metrics: createWebhookMetrics(registry) });
    await post(url, syncRequest(userSwarm()));
    await post(url, '{');
    await post(url, '{', { authorization: '' });
    const text = await registry.metrics();
    for (const outcome of ['ok', 'bad_request', 'unauthorized']) {
      expect(text).toContain(`uswarm_webhook_sync_requests_total{outcome="${outcome}",component="test"} 1`);
    }
    expect(text).toContain('uswarm_webhook_renderings_total{phase="Progressing",reason="Starting",component="test"} 1');
    expect(text).toContain('uswarm_webhook_sync_duration_seconds_count{component="test"} 3');
  });
});

describe('other paths', () => {
  it('HOOK-002: GET /healthz says ok without a token', async () => {
    const response = await fetch(`${await start()}/healthz`);
    expect([response.status, await response.text()]).toEqual([200, 'ok\n']);
  });

  it('404 as JSON for anything else', async () => {
    const response = await fetch(`${await start()}/sync`);
    expect([response.status, await response.json()]).toEqual([404, { error: 'not found' }]);
  });
});
