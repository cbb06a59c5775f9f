import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { afterEach, expect, it } from '@jest/globals';
import { listen, Registry, type RunningServer } from '@uswarm/service-kit';
import { createGatewayMetrics } from '../../metrics/gateway-metrics.js';
import { forwardPeerSessions } from './peer-sessions.js';

let servers: RunningServer[] = [];
afterEach(async () => {
  for (const server of servers) await server.close(0);
  servers = [];
});

/** A gateway whose own handler responds with its name. @param owner the address that it reads from each session id */
async function startGateway(name: string, owner: () => string | undefined) {
  const handled: string[] = [];
  const httpServer = createServer((request: IncomingMessage, response: ServerResponse) => {
    handled.push(`${request.method} ${request.url}`);
    response.setHeader('x-handled-by', name).end();
  });
  const registry = new Registry();
  const metrics = createGatewayMetrics(registry);
  forwardPeerSessions({ httpServer, ids: { ownerOf: owner }, metrics });
  const server = await listen(httpServer, { host: '127.0.0.1', port: 0 });
  servers.push(server);
  const failures = async () => (await metrics.forwardFailures.get()).values[0]?.value;
  return { url: server.url, address: `127.0.0.1:${server.port}`, handled, failures };
}
const handlerOf = async (url: string) => (await fetch(url)).headers.get('x-handled-by');

it('forwards a request of a session to its gateway, and handles requests without a session', async () => {
  const owner = await startGateway('owner', () => undefined);
  const other = await startGateway('other', () => owner.address);
  expect(await handlerOf(`${other.url}/socket.io/?transport=polling&sid=a`)).toBe('owner');
  expect(await handlerOf(`${other.url}/socket.io/?transport=websocket`)).toBe('other');
});

it('forwards no request twice, also if each gateway believes that another one has the session', async () => {
  const addresses: string[] = [];
  const a = await startGateway('a', () => addresses[1]);
  const b = await startGateway('b', () => addresses[0]);
  addresses.push(a.address, b.address);
  expect(await handlerOf(`${a.url}/socket.io/?sid=x`)).toBe('b');
  expect([a.handled, b.handled]).toEqual([[], ['GET /socket.io/?sid=x']]);
});

it('responds as for an unknown session if its gateway no longer exists', async () => {
  const gone = await startGateway('gone', () => undefined);
  await servers.pop()!.close(0);
  const gateway = await startGateway('gateway', () => gone.address);
  const response = await fetch(`${gateway.url}/socket.io/?sid=x`);
  expect({ status: response.status, body: await response.json() }).toMatchObject({ status: 400, body: { code: 1 } });
  expect(await gateway.failures()).toBe(1);
});
