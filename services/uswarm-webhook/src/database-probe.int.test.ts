import { createServer } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '@uswarm/testkit';
import type { Database } from './config/stores.js';
import { askDatabase } from './database-probe.js';

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
    // Some set-ups trust local connections and have none.
    password: decodeURIComponent(password) || 'unused',
    sslMode: 'disable',
  };
});
afterAll(() => server.drop());

describe('asking a real Postgres', () => {
  it('is answered', async () => {
    await expect(askDatabase(database)()).resolves.toBeUndefined();
  });

  it('fails for a database that does not exist, and where TLS is asked for and not spoken', async () => {
    await expect(askDatabase({ ...database, database: 'nothing_here' })()).rejects.toThrow('does not exist');
    await expect(askDatabase({ ...database, sslMode: 'require' })()).rejects.toThrow('SSL');
  });

  it('gives up on one that takes the connection and says nothing', async () => {
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    await expect(askDatabase({ ...database, host: '127.0.0.1', port })()).rejects.toThrow('timeout');
    silent.close();
  });
});
