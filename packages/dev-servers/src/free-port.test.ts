import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it, jest } from '@jest/globals';

const START = 20_000;
jest.unstable_mockModule('node:crypto', () => ({ randomInt: () => START }));

/** The module as another process has it: without the memory of this one, here from the same first port. */
async function newFreePort(): Promise<() => Promise<number>> {
  jest.resetModules();
  return (await import('./free-port.js')).freePort;
}

it('freePort returns ports on which a program can listen, and which connections do not get', async () => {
  const freePort = await newFreePort();
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

it('freePort does not return a port that another process got, even if nothing listens on it yet', async () => {
  const first = await newFreePort();
  const second = await newFreePort();
  const ports = [await first(), await second(), await first(), await second()];
  expect(new Set(ports).size).toBe(ports.length);
});
