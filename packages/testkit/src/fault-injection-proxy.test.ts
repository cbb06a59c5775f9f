import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { eventually } from './eventually.js';
import { type FaultInjectionProxy, startFaultInjectionProxy } from './fault-injection-proxy.js';

let server: Server;
let proxy: FaultInjectionProxy;
let client: Socket;
let received: string;

beforeEach(async () => {
  received = '';
  server = createServer((socket) => socket.on('error', () => undefined).pipe(socket));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const target = `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`;
  proxy = await startFaultInjectionProxy(target);
  client = connect(Number(new URL(proxy.redirect(target)).port), '127.0.0.1');
  client.on('error', () => undefined).on('data', (data) => (received += String(data)));
  await once(client, 'connect');
  client.write('a');
  await eventually(() => received === 'a');
});
afterEach(async () => {
  client.destroy();
  await proxy.close();
  server.close();
});

it('a proxy forwards data once, also if it is thawed without a freeze', async () => {
  proxy.thaw();
  client.write('b');
  client.write('c');
  await eventually(() => received.endsWith('c'));
  expect(received).toBe('abc');
});

it('a proxy forwards the data of a freeze when it is thawed', async () => {
  proxy.freeze();
  client.write('b');
  proxy.thaw();
  await eventually(() => received.endsWith('b'));
  expect(received).toBe('ab');
});
