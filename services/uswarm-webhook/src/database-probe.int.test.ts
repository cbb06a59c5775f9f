import { createServer } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '@uswarm/testkit';
import type { Database } from './config/stores.js';
import { probeDatabase } from './database-probe.js';

let server: TestDatabase;
let database: Database;
beforeAll(async () => {
  server = await createTestDatabase();
  const { hostname, port, pathname, username, password } = new URL(server.url);
  database = {
    host: hostname,
    port: Number(port),
    database: pathname.slice(1),
    user: decodeURIComponent(username),
    // Some test servers trust local connections and have no password.
    password: decodeURIComponent(password) || 'unused',
    sslMode: 'disable',
  };
});
afterAll(() => server.drop());

describe('probeDatabase with a real Postgres', () => {
  it('resolves when the database is reachable', async () => {
    await expect(probeDatabase(database)()).resolves.toBeUndefined();
  });

  it('rejects when the database does not exist or does not support TLS', async () => {
    await expect(probeDatabase({ ...database, database: 'nothing_here' })()).rejects.toThrow('does not exist');
    await expect(probeDatabase({ ...database, sslMode: 'require' })()).rejects.toThrow('SSL');
  });

  it('times out when the server accepts the connection and does not respond', async () => {
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    await expect(probeDatabase({ ...database, host: '127.0.0.1', port })()).rejects.toThrow('timeout');
    silent.close();
  });
});
