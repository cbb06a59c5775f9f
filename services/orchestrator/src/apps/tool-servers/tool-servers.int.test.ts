import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';
import { insertUserServer, type UserServerRow } from '../../records/user-tool-servers.store.js';
import { withoutAfterCommit } from '../../../test/transaction.js';
import { createToolServers } from './tool-servers.js';
import { type ToolServer, userServer } from './tool-servers-file.js';
import { newUserServerId } from './user-server-id.js';

const REDIRECT = 'https://app.example.com/connected/{server}';
const { addedBy: _, ...WIKI } = userServer('', {
  id: 'wiki',
  name: 'Wiki',
  url: 'https://wiki.example/',
  auth: { type: 'none' },
});

describe('tool servers of a user', () => {
  let uswarm: TestOrchestrator;
  let userId: string;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
    userId = await uswarm.idOf(await uswarm.user());
  });
  afterAll(() => uswarm.close());

  const open = (operators: ToolServer[] = [WIKI], isEnabled = true, redirects = [REDIRECT]) =>
    createToolServers({
      operators,
      config: { USER_TOOL_SERVERS: isEnabled, USER_TOOL_SERVERS_REDIRECT_URLS: redirects },
      database: uswarm.database,
    });
  async function store(row: Partial<UserServerRow> = {}): Promise<string> {
    const id = newUserServerId();
    const url = `https://mcp.example.com/${randomUUID()}`;
    await uswarm.database.transaction().execute((tx) =>
      insertUserServer(withoutAfterCommit(tx), {
        id,
        userId,
        name: 'Notes',
        url,
        auth: 'none',
        clientId: null,
        ...row,
      }),
    );
    return id;
  }

  it('are never trusted, whatever the server is', async () => {
    const id = await store();
    expect(await open().find(userId, id)).toMatchObject({
      addedBy: userId,
      trust_hints: false,
      availability: 'on',
      denied_tools: [],
    });
  });

  it("are found by their user only, and operators' servers by all", async () => {
    const id = await store();
    const servers = open();
    expect((await servers.of(userId)).map((server) => server.id)).toEqual(expect.arrayContaining(['wiki', id]));
    expect((await servers.of(randomUUID())).map((server) => server.id)).toEqual(['wiki']);
    expect(await servers.find(randomUUID(), id)).toBeUndefined();
    expect(await servers.find(randomUUID(), 'wiki')).toBe(WIKI);
  });

  it('have their host behind the name if the operator adds a server with this name later', async () => {
    const id = await store({ name: 'Wіki' });
    expect(await open([]).find(userId, id)).toMatchObject({ name: 'Wіki' });
    expect(await open().find(userId, id)).toMatchObject({ name: 'Wіki (mcp.example.com)' });
    const long = 'w'.repeat(60);
    const other = await store({ name: long });
    const taken = await open([{ ...WIKI, name: long }]).find(userId, other);
    expect(taken).toMatchObject({ name: `${long} (mcp.example.com)` });
  });

  it('return to an address with their id, and without one keep only accounts that are connected', async () => {
    const id = await store({ auth: 'oauth', clientId: 'ours' });
    expect((await open().find(userId, id))?.auth).toEqual({
      type: 'oauth',
      client_id: 'ours',
      redirect_urls: [`https://app.example.com/connected/${id}`],
    });
    expect((await open([], true, []).find(userId, id))?.auth).toEqual({ type: 'user_token' });
  });

  it("are only the operator's, without a statement, if users may not add servers", async () => {
    const id = await store();
    const servers = createToolServers({
      operators: [WIKI],
      config: { USER_TOOL_SERVERS: false, USER_TOOL_SERVERS_REDIRECT_URLS: [] },
      // Each statement would fail.
      database: undefined as never,
    });
    expect(await servers.of(userId)).toEqual([WIKI]);
    expect(await servers.find(userId, id)).toBeUndefined();
  });
});
