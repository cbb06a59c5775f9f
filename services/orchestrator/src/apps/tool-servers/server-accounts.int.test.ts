import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { silentLogger, systemClock } from '@uswarm/service-kit';
import { type AccountServer, type AccountServerHabits, startAccountServer } from '@uswarm/testkit/account-server';
import { createMigratedDatabase, type MigratedDatabase } from '../../../test/database.js';
import { createTokenCipher } from '../integrations/token-cipher.js';
import { connectionKey, createServerAccounts } from './server-accounts.js';
import { loadToolServers } from './tool-servers-file.js';

const KEY = connectionKey('linear');
const USER = 'a user';
const REDIRECT = 'https://app.example.com/connected/linear';
const newCipher = (id: string) => createTokenCipher([{ id, key: randomBytes(32) }]);

describe('the client of a tool server', () => {
  let db: MigratedDatabase;
  let accounts: AccountServer;
  let folder: string;
  beforeAll(async () => {
    db = await createMigratedDatabase();
    accounts = await startAccountServer({ clientAuthentication: ['client_secret_post'] });
    folder = await mkdtemp(path.join(tmpdir(), 'uswarm-accounts-'));
  });
  afterEach(() => db.database.deleteFrom('tool_server_clients').execute());
  afterAll(async () => {
    await accounts.close();
    await db.close();
    await rm(folder, { recursive: true });
  });

  async function open(cipher = newCipher('a'), auth: object = {}) {
    const file = path.join(folder, 'tool-servers.json');
    const server = { id: 'linear', name: 'Linear', url: accounts.url };
    const settings = { type: 'oauth', redirect_urls: [REDIRECT], ...auth };
    await writeFile(file, JSON.stringify({ servers: [{ ...server, auth: settings }] }));
    const operators = loadToolServers(file);
    return createServerAccounts({
      servers: { operators, find: async (_, id) => operators.find((one) => one.id === id) },
      outgoing: { fetch },
      publicOutgoing: { fetch },
      secrets: folder,
      database: db.database,
      cipher,
      clock: systemClock,
      logger: silentLogger,
    });
  }

  it('is the one that was stored first if two users connect at the same time', async () => {
    const cipher = newCipher('a');
    const [one, other] = [await open(cipher), await open(cipher)];
    await Promise.all([one.prepare(KEY, USER), other.prepare(KEY, USER)]);
    const clients = await Promise.all([one.find(KEY), other.find(KEY)]);
    expect(clients[0]).toMatchObject({
      clientId: expect.stringMatching(/^client-/),
      pkce: true,
      resource: accounts.url,
    });
    expect(clients[1]).toEqual(clients[0]);
  });

  it('is registered again if its secret cannot be decrypted any more', async () => {
    await (await open(newCipher('old'))).prepare(KEY, USER);
    const accountsNow = await open(newCipher('new'));
    expect(await accountsNow.find(KEY)).toBeUndefined();
    await accountsNow.prepare(KEY, USER);
    expect(await accountsNow.find(KEY)).toMatchObject({ clientSecret: expect.stringMatching(/^secret-/) });
  });

  it('is registered again for other addresses to return to', async () => {
    const cipher = newCipher('a');
    const before = accounts.registrations.length;
    await (await open(cipher)).prepare(KEY, USER);
    await (await open(cipher)).prepare(KEY, USER);
    expect(accounts.registrations.length - before).toBe(1);
    await (await open(cipher, { redirect_urls: [`${REDIRECT}/new`] })).prepare(KEY, USER);
    expect(accounts.registrations.length - before).toBe(2);
  });

  it("is the operator's, with the secret in its file", async () => {
    await writeFile(path.join(folder, 'linear'), 'hidden\n');
    const own = await open(newCipher('a'), { client_id: 'ours', secret: 'linear' });
    await own.prepare(KEY, USER);
    expect(await own.find(KEY)).toMatchObject({
      clientId: 'ours',
      clientSecret: 'hidden',
      clientAuthentication: 'body',
    });
  });

  it.each<[string, Partial<AccountServerHabits>]>([
    ['integration_unavailable', { faults: { serverMetadata: 503 } }],
    ['integration_not_configured', { fields: { resourceMetadata: { resource: 'https://evil.example/mcp' } } }],
    ['integration_not_configured', { registration: 'refused' }],
  ])('is not there if the server cannot be connected: %s, %j', async (code, habits) => {
    const usual = { ...accounts.habits };
    Object.assign(accounts.habits, habits);
    await expect((await open()).prepare(KEY, USER)).rejects.toMatchObject({ code });
    Object.assign(accounts.habits, usual);
  });
});
