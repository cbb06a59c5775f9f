import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { McpFailure, type Tool } from '@uswarm/mcp-client';
import { silentLogger } from '@uswarm/service-kit';
import { startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';
import { createWithTransaction } from '../../platform/database/transaction.js';
import { listDefinitions } from '../../records/tool-definitions.store.js';
import { deleteUserServer, insertUserServer, listUserServerStates } from '../../records/user-tool-servers.store.js';
import { type ConnectedServer, createListing, type Listing } from './listing.js';
import { userServer } from './tool-servers-file.js';
import { newUserServerId } from './user-server-id.js';

const RUNNING = new AbortController().signal;
const READ: Tool = { name: 'read', description: 'Reads.', inputSchema: { type: 'object' } };

describe('the tools of a server that a user has added', () => {
  let uswarm: TestOrchestrator;
  let userId: string;
  let listing: Listing;
  let answer: () => Promise<readonly Tool[]>;
  let connected: ConnectedServer;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
    userId = await uswarm.idOf(await uswarm.user());
    const { database } = uswarm;
    const withTransaction = createWithTransaction(database);
    const own = { servers: [], stored: () => undefined, logger: silentLogger };
    listing = createListing({ ...own, database, withTransaction });
  });
  beforeEach(async () => {
    const id = newUserServerId();
    const row = { id, name: id, url: `https://mcp.example.com/${id}` };
    await inTransaction((tx) => insertUserServer(tx, { ...row, userId, auth: 'none', clientId: null }));
    const server = userServer(userId, { ...row, auth: { type: 'none' } });
    answer = async () => [READ];
    const client = {
      list: async () => ({ tools: await answer(), unusable: [] }),
      requireScopes: async () => undefined,
      call: () => Promise.reject(new Error('no call')),
      close: async () => undefined,
    };
    connected = { server, ownerId: userId, client };
  });
  afterAll(() => uswarm.close());

  const inTransaction: ReturnType<typeof createWithTransaction> = (run) => createWithTransaction(uswarm.database)(run);
  const refresh = () => listing.refresh(connected, RUNNING);
  const stored = async () =>
    (await listDefinitions(uswarm.database, [connected.server.id], userId)).map(({ definition }) => definition.name);
  const state = async () =>
    (await listUserServerStates(uswarm.database, userId)).find(({ id }) => id === connected.server.id);

  it('are counted for the user', async () => {
    await refresh();
    expect(await state()).toMatchObject({ failure: null, tools: 1 });
  });

  it('stay as they were while the server fails, and the user sees why', async () => {
    await refresh();
    answer = () => Promise.reject(new McpFailure('could not be reached', {}));
    await expect(refresh()).rejects.toThrow('could not be reached');
    expect(await state()).toMatchObject({ failure: 'could not be reached', tools: 1 });
    answer = async () => [READ];
    await refresh();
    expect(await state()).toMatchObject({ failure: null });
  });

  it('are not stored if the user removes the server while it lists them', async () => {
    answer = async () => {
      await inTransaction((tx) => deleteUserServer(tx, userId, connected.server.id));
      return [READ];
    };
    await refresh();
    expect(await stored()).toEqual([]);
  });
});
