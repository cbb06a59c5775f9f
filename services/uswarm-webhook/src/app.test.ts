import { afterEach, describe, expect, it } from '@jest/globals';
import {
  type BodyRules,
  createLogger,
  createMetrics,
  listen,
  type RunningServer,
  silentLogger,
} from '@uswarm/service-kit';
import { sendSlowBody } from '@uswarm/testkit/slow-request';
import { settledRequest, syncRequest, testFacts, testSettings, userSwarm } from '../test/webhook-input.js';
import { createWebhookApp, type WebhookDeps } from './app.js';
import { createWebhookMetrics } from './metrics.js';
import { render } from './render/render.js';

const TOKEN = 't'.repeat(32);
const now = new Date('2030-01-01T00:00:00Z');
let server: RunningServer | undefined;

async function start(deps: Partial<WebhookDeps> = {}, bodies?: BodyRules): Promise<string> {
  const app = createWebhookApp({
    syncToken: TOKEN,
    settings: testSettings(),
    logger: silentLogger,
    clock: { now: () => now },
    ...deps,
  });
  server = await listen(app, { host: '127.0.0.1', port: 0, ...(bodies === undefined ? {} : { bodies }) });
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

it('ends a request whose body stands still with 408, and logs no error', async () => {
  const log: string[] = [];
  const logger = createLogger({ service: 'test', destination: { write: (line: string) => void log.push(line) } });
  const url = await start({ logger }, { stallMs: 300, minBytesPerS: 1 });
  const headers = { authorization: `Bearer ${TOKEN}` };
  const { status } = await sendSlowBody({ method: 'POST', url: `${url}/sync`, headers, start: '{"parent":' });
  await server?.close();
  expect({ status, log }).toEqual({ status: 408, log: [] });
});

it('refuses a body that is not UTF-8 with 400', async () => {
  const url = await start();
  const body = Buffer.concat([Buffer.from('{"parent":"'), Buffer.from([0xff]), Buffer.from('"}')]);
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  expect((await fetch(`${url}/sync`, { method: 'POST', headers, body })).status).toBe(400);
});

describe('rotation of SYNC_TOKEN', () => {
  const NEXT = 'n'.repeat(32);
  const statusWith = async (url: string, token: string): Promise<number> =>
    (await post(url, syncRequest(userSwarm()), { authorization: `Bearer ${token}` })).status;

  it('accepts the old and the new token while both are configured, in either order', async () => {
    for (const deps of [
      { syncToken: TOKEN, previousSyncTokens: [NEXT] },
      { syncToken: NEXT, previousSyncTokens: [TOKEN] },
    ]) {
      const url = await start(deps);
      const statuses = {
        old: await statusWith(url, TOKEN),
        next: await statusWith(url, NEXT),
        other: await statusWith(url, 'x'.repeat(32)),
      };
      expect(statuses).toEqual({ old: 200, next: 200, other: 401 });
      await server?.close();
    }
  });

  it('rejects the old token after it is removed', async () => {
    const url = await start({ syncToken: NEXT });
    const statuses = { old: await statusWith(url, TOKEN), next: await statusWith(url, NEXT) };
    expect(statuses).toEqual({ old: 401, next: 200 });
  });
});

describe('POST /sync', () => {
  it('returns the revision and start time, only to authenticated callers', async () => {
    const url = await start({ version: { revision: 'abc', startedAt: now } });
    const { headers } = await post(url, syncRequest(userSwarm()));
    expect(headers.get('uswarm-webhook-revision')).toBe('abc');
    expect(headers.get('uswarm-webhook-started')).toBe('2030-01-01T00:00:00.000Z');
    const refused = await post(url, {}, { authorization: 'Bearer wrong' });
    expect(refused.headers.has('uswarm-webhook-revision')).toBe(false);
  });

  it('HOOK-001: reconcile returns the rendered response', async () => {
    const url = await start();
    const request = syncRequest(userSwarm());
    const response = await post(url, request);
    expect(response.status).toBe(200);
    const expected = render(request, testSettings(), await testFacts({ now }));
    expect(await response.json()).toEqual(JSON.parse(JSON.stringify(expected)));
  });

  it('HOOK-001: finalize returns no children and is finalized when no child is observed', async () => {
    const url = await start();
    const observed = { ...(await settledRequest(userSwarm())), finalizing: true };
    const waiting = await (await post(url, observed)).json();
    expect(waiting).toMatchObject({ status: { phase: 'Deleting' }, children: [], finalized: false });
    const done = await (await post(url, { ...syncRequest(userSwarm()), finalizing: true })).json();
    expect(done).toMatchObject({ children: [], finalized: true });
  });

  it.each([
    ['no token', { authorization: '' }],
    ['another token', { authorization: `Bearer ${'x'.repeat(32)}` }],
    ['a part of the token', { authorization: `Bearer ${TOKEN.slice(1)}` }],
    ['another scheme', { authorization: `Basic ${TOKEN}` }],
  ])('returns 401 for %s before it parses the body', async (_what, headers) => {
    const url = await start();
    const response = await post(url, '{', headers);
    expect(response.status).toBe(401);
    expect(await response.json()).toEqual({ error: 'a valid token is required' });
  });

  it.each([
    ['invalid JSON', '{'],
    ['an empty body', ''],
    ['an array', '[]'],
    ['a missing parent', { ...syncRequest(userSwarm()), parent: undefined }],
    ['a parent without a name', { ...syncRequest(userSwarm()), parent: { metadata: { uid: 'u', generation: 1 } } }],
    ['a missing group of children', { ...syncRequest(userSwarm()), children: { 'Service.v1': {} } }],
    ['a missing finalizing', { ...syncRequest(userSwarm()), finalizing: undefined }],
  ])('returns 400 with a JSON error for %s', async (_what, body) => {
    const url = await start();
    const response = await post(url, body);
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({ error: expect.stringContaining('malformed') });
  });

  it('accepts bodies of several megabytes and returns 413 for larger ones', async () => {
    const url = await start();
    const request = syncRequest(userSwarm());
    const padded = (bytes: number): object => ({ ...request, controller: { padding: 'x'.repeat(bytes) } });
    expect((await post(url, padded(5 * 2 ** 20))).status).toBe(200);
    expect((await post(url, padded(9 * 2 ** 20))).status).toBe(413);
  });

  it('returns 500 for an internal error, never an empty list of children', async () => {
    const url = await start({
      databaseState: () => {
        throw new Error('internal failure');
      },
    });
    const response = await post(url, await settledRequest(userSwarm()));
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({ error: 'internal error' });
  });

  it('preserves the children when rendering throws, and does not expose the exception', async () => {
    const request = await settledRequest(userSwarm());
    const stores = [
      {
        name: 'SVC_DATABASE_HOST',
        get value(): string {
          throw new Error('contains a secret');
        },
      },
    ];
    const url = await start({ settings: { ...testSettings(), stores } });
    const body = await (await post(url, request)).text();
    expect(JSON.parse(body)).toMatchObject({
      status: { phase: 'Error' },
      children: [{ kind: 'ServiceAccount' }, { kind: 'Service' }, { kind: 'Deployment' }],
    });
    expect(body).toContain('RenderingFailed');
    expect(body).not.toContain('contains a secret');
  });

  it('counts requests by outcome and renderings by phase and reason', async () => {
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
  it('HOOK-002: GET /healthz returns ok without a token', async () => {
    const response = await fetch(`${await start()}/healthz`);
    expect({ status: response.status, text: await response.text() }).toEqual({ status: 200, text: 'ok\n' });
  });

  it('returns 404 as JSON for any other path', async () => {
    const response = await fetch(`${await start()}/sync`);
    expect({ status: response.status, json: await response.json() }).toEqual({
      status: 404,
      json: { error: 'not found' },
    });
  });
});
