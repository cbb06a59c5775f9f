import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createOutgoing } from './outgoing.js';
import { DIRECT } from './proxy.js';
import { isPublicAddress } from './public-address.js';

describe('an address that a user names', () => {
  it.each(['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'])('is public: %s', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it.each([
    '127.0.0.1',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '255.255.255.255',
    '224.0.0.1',
    '::1',
    '::',
    'fe80::1',
    'fd00:ec2::254',
    '::ffff:10.0.0.1',
    '64:ff9b::a00:1',
    '2002:a00:1::1',
    'not an address',
  ])('is not public: %s', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

describe('an outgoing call to a server that a user names', () => {
  let server: Server;
  let port: number;
  let requests: number;
  beforeEach(async () => {
    requests = 0;
    server = createServer((_, response) => {
      requests += 1;
      response.end('here');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  });
  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  /** @returns the status, or the error code */
  async function outcome(host: string, publicExcept: readonly string[]): Promise<unknown> {
    const outgoing = createOutgoing(DIRECT, { publicExcept });
    try {
      const { statusCode, body } = await outgoing.request(`http://${host}:${port}/`);
      await body.dump();
      return statusCode;
    } catch (error) {
      return (error as { code?: string }).code;
    } finally {
      await outgoing.destroy();
    }
  }

  // The name resolves to a loopback address.
  it.each(['127.0.0.1', '[::1]', 'localhost', '127.1', '2130706433', '[::ffff:127.0.0.1]'])(
    'is not sent to the private address %s',
    async (host) => {
      expect(await outcome(host, [])).toBe('PRIVATE_ADDRESS');
      expect(requests).toBe(0);
    },
  );

  it.each(['127.0.0.1', 'localhost'])('is sent to %s if an operator allows it', async (host) => {
    expect(await outcome(host, [host])).toBe(200);
  });
});
