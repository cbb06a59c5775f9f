import { once } from 'node:events';
import { createServer, get, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ForwardProxy, startForwardProxy } from '@uswarm/testkit/forward-proxy';
import { isNotConnected } from '../not-connected.js';
import { createOutgoingAgents } from './node-agents.js';
import { createOutgoing, type Outgoing } from './outgoing.js';
import { readProxy } from './proxy.js';

/** Only the proxy can resolve it. */
const HOST = 'outside.test';

describe('an outgoing call', () => {
  let server: Server;
  let port: number;
  let outgoing: Outgoing | undefined;
  let proxy: ForwardProxy | undefined;
  beforeEach(async () => {
    server = createServer((request, response) => response.end(JSON.stringify(request.headers)));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  });
  afterEach(async () => {
    await outgoing?.destroy();
    await proxy?.close();
    server.closeAllConnections();
    server.close();
  });
  const open = (env: Record<string, string>): Outgoing =>
    (outgoing = createOutgoing(readProxy(env), { connectMs: 300 }));
  const headersOf = async (url: string, client = outgoing): Promise<Record<string, string>> => {
    const answer = await client!.request(url);
    return (await answer.body.json()) as Record<string, string>;
  };

  it('is forwarded by the proxy if it is plain http, and the server does not receive the credentials', async () => {
    proxy = await startForwardProxy({ credentials: 'ann:p@ss' });
    open({ HTTP_PROXY: `http://127.0.0.1:${proxy.port}`, PROXY_USERNAME: 'ann', PROXY_PASSWORD: 'p@ss' });
    const headers = await headersOf(`http://${HOST}:${port}/`);
    expect(headers).toMatchObject({ host: `${HOST}:${port}` });
    expect(headers).not.toHaveProperty('proxy-authorization');
    expect(proxy.targets).toEqual([`${HOST}:${port}`]);
  });

  it('does not use the proxy if it is to this machine', async () => {
    proxy = await startForwardProxy();
    open({ ALL_PROXY: proxy.url });
    await headersOf(`http://127.0.0.1:${port}/`);
    await headersOf(`http://localhost:${port}/`);
    expect(proxy.targets).toEqual([]);
  });

  it.each([
    ['that refuses the connection', { fault: 403 }, 'refused a connection to outside.test:443 (status 403)'],
    [
      'that does not know the user',
      { credentials: 'ann:right' },
      'refused a connection to outside.test:443 (status 407)',
    ],
    ['that does not answer', { fault: 'hang' as const }, 'cannot be reached'],
  ])('fails as not sent, without credentials in its message, through a proxy %s', async (_, options, text) => {
    proxy = await startForwardProxy(options);
    open({ HTTPS_PROXY: `http://ann:hunter2@127.0.0.1:${proxy.port}` });
    const error = (await outgoing?.request(`https://${HOST}/`).catch((reason: unknown) => reason)) as Error;
    expect(error.message).toBe(`the proxy ${proxy.url} ${text}`);
    expect(isNotConnected(error)).toBe(true);
  });

  it('fails as not sent through a proxy that is down', async () => {
    proxy = await startForwardProxy();
    await proxy.close();
    open({ HTTPS_PROXY: proxy.url });
    proxy = undefined;
    const error = await outgoing?.request(`https://${HOST}/`).catch((reason: unknown) => reason);
    expect(isNotConnected(error)).toBe(true);
  });
});

describe('an agent of Node', () => {
  it('opens a tunnel for a name outside, and connects to this machine directly', async () => {
    const server = createServer((_, response) => response.end('here'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const proxy = await startForwardProxy();
    const agents = createOutgoingAgents(readProxy({ ALL_PROXY: proxy.url }), { maxSockets: 2, connectMs: 1_000 });
    const textOf = async (host: string): Promise<string> => {
      const [answer] = await once(get({ host, port, agent: agents.httpAgent }), 'response');
      const parts: Buffer[] = [];
      for await (const part of answer) parts.push(part);
      return Buffer.concat(parts).toString();
    };
    const texts = { outside: await textOf(HOST), here: await textOf('127.0.0.1') };
    agents.httpAgent.destroy();
    await agents.close();
    await proxy.close();
    server.close();
    expect({ texts, targets: proxy.targets }).toEqual({
      texts: { outside: 'here', here: 'here' },
      targets: [`${HOST}:${port}`],
    });
  });

  it('reports a proxy that refuses as an error of the request', async () => {
    const proxy = await startForwardProxy({ fault: 403 });
    const agents = createOutgoingAgents(readProxy({ ALL_PROXY: proxy.url }), { maxSockets: 2, connectMs: 1_000 });
    const [error] = (await once(get({ host: HOST, agent: agents.httpAgent }), 'error').catch((reason: unknown) => [
      reason,
    ])) as [Error];
    await agents.close();
    await proxy.close();
    expect(error.message).toBe(`the proxy ${proxy.url} refused a connection to ${HOST}:80 (status 403)`);
  });
});
