import { execFile } from 'node:child_process';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { container, evaluation, render } from './support/rendering.js';

// Runs the `helm test` program against fake components, without its API server check, which needs a cluster.

let server: Server | undefined;
afterEach(() => {
  server?.close();
});

type Answer = (request: IncomingMessage, response: ServerResponse) => void;
const SYNC_TOKEN = 'a-token-of-thirty-two-characters';

const answers: Record<string, Answer> = {
  '/orchestrator/v1/health': (_, response) => json(response, { data: { online: true, version: '1' } }),
  '/gateway/socket.io/?EIO=4&transport=polling': (_, response) => response.end('0{"sid":"x"}'),
  '/gateway/v1/stream': (_, response) => response.writeHead(400).end('{"code":"validation_failed"}'),
  '/webhook/healthz': (_, response) => response.end('ok'),
  '/webhook/sync': ({ headers }, response) => {
    if (headers.authorization !== `Bearer ${SYNC_TOKEN}`) return response.writeHead(401).end();
    return json(response, { children: ['ServiceAccount', 'Service', 'Deployment'].map((kind) => ({ kind })) });
  },
  '/tool/mcp': (_, response) => response.writeHead(401).end(),
  '/search/search?q=uswarm&format=json': (_, response) => json(response, { results: [] }),
};

const html =
  (body: string): Answer =>
  (_, response) =>
    response.end(body);
const client =
  (client_id: string): Answer =>
  (_, response) =>
    json(response, { client_id });

function json(response: ServerResponse, body: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** Runs the program against one server that implements all components. */
async function check(
  changed: Record<string, Answer> = {},
  more: Record<string, string> = {},
): Promise<{ code: number; lines: string[] }> {
  const all = { ...answers, ...changed };
  const listening = createServer((request, response) => {
    const answer = all[request.url ?? ''];
    if (answer === undefined) response.writeHead(404).end();
    else answer(request, response);
  });
  server = listening;
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;

  const { args = [], env = [] } = container(await render(evaluation), 'uswarm-test', 'test');
  const parts = env.filter(({ name }) => name.endsWith('_URL')).map(({ name }) => name);
  expect(parts).toEqual(['ORCHESTRATOR_URL', 'GATEWAY_URL', 'WEBHOOK_URL', 'TOOL_URL', 'SEARCH_URL']);
  const urls = parts.map((name) => [name, `${base}/${name.replace('_URL', '').toLowerCase()}`]);
  return new Promise((resolve) => {
    const environment = { ...Object.fromEntries(urls), SYNC_TOKEN, DEADLINE_MS: '0', ...more };
    execFile(process.execPath, args, { env: environment }, (error, stdout) => {
      resolve({ code: Number(error?.code ?? 0), lines: stdout.trim().split('\n') });
    });
  });
}

const failing = (lines: readonly string[]): string[] =>
  lines.filter((line) => line.startsWith('FAILED') && !line.includes('API server'));

describe('helm test', () => {
  it('passes if all components respond as expected', async () => {
    const { lines } = await check();
    expect(failing(lines)).toEqual([]);
    expect(lines.filter((line) => line.startsWith('ok'))).toHaveLength(8);
  });

  it.each<[string, Record<string, Answer>]>([
    [
      'the orchestrator is online: unexpected response {"online":false}',
      { '/orchestrator/v1/health': (_, response) => json(response, { data: { online: false } }) },
    ],
    [
      'the gateway speaks socket.io: HTTP 200: <html>',
      { '/gateway/socket.io/?EIO=4&transport=polling': (_, response) => response.end('<html>') },
    ],
    [
      'the gateway serves streams: HTTP 404: ',
      { '/gateway/v1/stream': (_, response) => response.writeHead(404).end() },
    ],
    ['the webhook is healthy: HTTP 503', { '/webhook/healthz': (_, response) => response.writeHead(503).end() }],
    ['the search tool requires a token: HTTP 200', { '/tool/mcp': (_, response) => json(response, {}) }],
    [
      'the search service answers in JSON: HTTP 403',
      { '/search/search?q=uswarm&format=json': (_, response) => response.writeHead(403).end() },
    ],
  ])('reports `%s`', async (line, changed) => {
    const { code, lines } = await check(changed);
    expect(failing(lines)).toEqual([`FAILED  ${line}`]);
    expect(code).toBe(1);
  });

  it('reports that NetworkPolicies are not enforced', async () => {
    const open = createServer();
    await new Promise<void>((resolve) => open.listen(0, '127.0.0.1', resolve));
    const { port } = open.address() as AddressInfo;
    const there = { CLOSED_ADDRESS: `127.0.0.1:${port}` };
    const { code, lines } = await check({}, there);
    expect(failing(lines)).toEqual([expect.stringContaining('NetworkPolicies are enforced: 127.0.0.1:')]);
    expect(code).toBe(1);
    server?.close();
    await new Promise((resolve) => open.close(resolve));
    expect(failing((await check({}, there)).lines)).toEqual([]);
  });

  it('checks the page only if it is served', async () => {
    const page = { '/orchestrator/': html('<div id="root">'), '/orchestrator/page.json': client('my-page') };
    const expected = { PAGE_CLIENT_ID: 'my-page' };
    expect(failing((await check(page, expected)).lines)).toEqual([]);
    server?.close();
    expect(failing((await check({ ...page, '/orchestrator/page.json': client('old') }, expected)).lines)).toEqual([
      'FAILED  the orchestrator serves the page: unexpected client "old"',
    ]);
    server?.close();
    expect(failing((await check({ ...page, '/orchestrator/': html('Hello') }, expected)).lines)).toEqual([
      'FAILED  the orchestrator serves the page: unexpected response Hello',
    ]);
    const variable = async (values: object): Promise<unknown> =>
      container(await render(values), 'uswarm-test', 'test').env!.find(({ name }) => name === 'PAGE_CLIENT_ID')?.value;
    const web = { signature: { mode: 'off' }, web: { enabled: true, clientId: 'app' } };
    expect(await variable({ ...evaluation, ...web })).toBe('app');
    expect(await variable(evaluation)).toBeUndefined();
  });

  it('checks NetworkPolicies only if they are enabled', async () => {
    const closed = async (values: object): Promise<unknown> =>
      container(await render(values), 'uswarm-test', 'test').env!.find(({ name }) => name === 'CLOSED_ADDRESS')?.value;
    expect(await closed(evaluation)).toBe('uswarm-orchestrator.backend.svc.cluster.local:8082');
    expect(await closed({ ...evaluation, networkPolicy: { enabled: false } })).toBeUndefined();
  });

  it('reports a webhook that requires no token and renders nothing', async () => {
    const { lines } = await check({ '/webhook/sync': (_, response) => json(response, { children: [] }) });
    expect(failing(lines)).toEqual([
      'FAILED  the webhook requires a token: HTTP 200',
      'FAILED  the webhook renders a workspace: unexpected response {"children":[]}',
    ]);
  });
});
