import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it } from '@jest/globals';
import { freePort } from './free-port.js';

it('freePort returns ports on which a program can listen, and which connections do not get', async () => {
  const ports = await Promise.all(Array.from({ length: 20 }, () => freePort()));
  // Nothing listens on the first one yet when the others are chosen.
  expect(new Set(ports).size).toBe(ports.length);
  for (const port of ports) {
    expect(port).toBeLessThan(32_768);
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    await new Promise((resolve) => server.close(resolve));
  }
});
