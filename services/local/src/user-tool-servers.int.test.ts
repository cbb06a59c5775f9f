import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { IntegrationCatalog, OAuthConfiguration, UserToolServer } from '@uswarm/contract';
import {
  type AccountServer,
  type AccountServerHabits,
  consentTo,
  startAccountServer,
} from '@uswarm/testkit/account-server';
import { eventually } from '@uswarm/testkit/eventually';
import { CREATE_ISSUE, LIST_ISSUES, startTrackerServer, type TrackerServer } from '@uswarm/testkit/tracker-server';
import { useToolServer } from '../test/tool-server-world.js';

const PATH = '/v1/tool-servers';
const KEYS = { INTEGRATION_TOKEN_KEYS: `test:${randomBytes(32).toString('base64')}` };
const SETTINGS = {
  ...KEYS,
  USER_TOOL_SERVERS: 'true',
  USER_TOOL_SERVERS_PER_USER: '2',
  USER_TOOL_SERVERS_REDIRECT_URLS: 'https://app.example.com/connected/{server}',
  // Tests reach their own servers by this name, and by no other name of this machine.
  USER_TOOL_SERVERS_PRIVATE_HOSTS: '127.0.0.1',
};

/** A server that notes what arrives, and answers with these headers. */
async function startListener(status: number, headers: Record<string, string> = {}) {
  const arrived: string[] = [];
  const server: Server = createServer((request, response) => {
    arrived.push(`${request.method} ${request.headers.authorization ?? ''}`.trim());
    response.writeHead(status, headers).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { arrived, port, url: `http://127.0.0.1:${port}/mcp`, close: () => void server.close().closeAllConnections() };
}

/** Passes token requests on to this server, after their release. */
async function startHeldTokens(url: string) {
  const arrived = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    arrived.resolve();
    await released.promise;
    const headers = { 'content-type': request.headers['content-type'] ?? '' };
    const answer = await fetch(url, { method: 'POST', headers, body });
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
  }
  const server = createServer((request, response) => {
    pass(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
    arrived: arrived.promise,
    release: released.resolve,
    close: () => void server.close().closeAllConnections(),
  };
}

describe('a tool server that a user adds', () => {
  const world = useToolServer({}, SETTINGS);
  let notes: TrackerServer;
  let accounts: AccountServer;
  beforeAll(async () => {
    notes = await startTrackerServer();
    accounts = await startAccountServer({ serve: () => notes.create(), needsResource: true });
  });
  beforeEach(() => {
    Object.assign(notes, { tools: [CREATE_ISSUE, LIST_ISSUES], issues: [], calls: [], token: undefined });
  });
  afterAll(async () => {
    await notes?.close();
    await accounts?.close();
  });

  const request = (body: object) => world.client.api('POST', PATH, body);
  async function add(body: object): Promise<UserToolServer> {
    const answer = await request({ name: 'Notes', url: notes.url, ...body });
    if (answer.status !== 201) throw new Error(`it was answered with ${JSON.stringify(answer)}`);
    return (answer.body as { data: UserToolServer }).data;
  }
  const list = async (): Promise<UserToolServer[]> =>
    ((await world.client.api('GET', PATH)).body as { data: UserToolServer[] }).data;
  const toolsOf = async (id: string): Promise<string[]> =>
    (await world.tools()).map(({ name }) => name).filter((name) => name.startsWith(`${id}__`));
  const untilTools = (id: string, count: number) =>
    eventually(() => toolsOf(id), { until: (found) => found.length === count });
  async function itemOf(id: string) {
    const { body } = await world.client.api('GET', '/v1/integrations');
    return (body as { data: IntegrationCatalog }).data.items.find(({ server }) => server === id);
  }
  const rowsOf = (id: string) =>
    world.services.query(
      `SELECT 'server' AS kind FROM user_tool_servers WHERE id = $1
       UNION ALL SELECT 'definition' FROM tool_definitions WHERE server = $1
       UNION ALL SELECT 'client' FROM tool_server_clients WHERE server = $1
       UNION ALL SELECT 'token' FROM integrations WHERE provider = 'mcp:' || $1`,
      [id],
    );
  const createIn = (id: string) => [{ toolCalls: [{ name: `${id}__create_issue`, arguments: { title: 'Door' } }] }];

  /** Connects the account of a server that wants one. */
  async function connect(id: string): Promise<OAuthConfiguration> {
    const { status, body } = await world.client.api('POST', `${PATH}/${id}/connect`);
    expect(status).toBe(200);
    const { data } = body as { data: OAuthConfiguration };
    const callback = consentTo(accounts, data, { account: world.client.workspaceId });
    expect(await world.client.api('POST', `${PATH}/${id}/callback`, callback)).toMatchObject({ status: 204 });
    return data;
  }

  /** Adds a server and connects its account, up to the first request that fails. */
  async function statusesOfConnecting(server: AccountServer): Promise<number[]> {
    const added = await request({ name: 'Notes', url: server.url });
    if (added.status !== 201) return [added.status];
    const path = `${PATH}/${(added.body as { data: UserToolServer }).data.id}`;
    const begun = await world.client.api('POST', `${path}/connect`);
    if (begun.status !== 200) return [added.status, begun.status];
    const { data } = begun.body as { data: OAuthConfiguration };
    const completed = await world.client.api('POST', `${path}/callback`, consentTo(server, data, { account: 'ada' }));
    return [added.status, begun.status, completed.status];
  }

  it('gives the tools to the agents of this user only, and asks before a call with its name', async () => {
    const { id, ...added } = await add({});
    expect(id).toMatch(/^own_[a-z0-9]{8}$/);
    expect(added).toMatchObject({ auth: 'none', state: 'connected', failure: null, tools: 2 });
    expect(await itemOf(id)).toMatchObject({ type: 'app', provider: null, name: 'Notes', enabled: true });
    world.behave = ({ results }) => (results.length === 0 ? createIn(id) : [{ text: `Done: ${results[0]}` }]);
    await world.client.send('File an issue');
    const card = await world.card();
    expect(JSON.stringify(card.content)).toContain('create_issue of Notes');
    await world.choose(card, 'approve');
    await world.answer('Done: Created the issue 1.');
    expect(notes.issues).toEqual(['Door']);
    expect(await world.receipts()).toEqual([{ tool: `${id}__create_issue`, status: 'succeeded' }]);
    await world.newUser();
    expect({ tools: await toolsOf(id), item: await itemOf(id), list: await list() }).toEqual({
      tools: [],
      item: undefined,
      list: [],
    });
  });

  it('asks also before a tool that the server calls read-only, because its hints are not trusted', async () => {
    const { id } = await add({});
    const tool = (await world.tools()).find(({ name }) => name === `${id}__list_issues`);
    expect(tool).toMatchObject({ permission: 'ask', enabled: true });
  });

  it('is called with the token of the user, which is stored encrypted', async () => {
    notes.token = `secret-${crypto.randomUUID()}`;
    expect(await request({ name: 'Notes', url: notes.url, token: 'wrong' })).toMatchObject({
      status: 422,
      body: { code: 'tool_server_unusable', extra: { reason: 'token_rejected' } },
    });
    expect(await list()).toEqual([]);
    const added = await add({ token: notes.token });
    expect(added).toMatchObject({ auth: 'bearer', state: 'connected', tools: 2 });
    expect(JSON.stringify(added)).not.toContain(notes.token);
    const stored = await world.services.query(
      `SELECT position(convert_to($2, 'UTF8') IN i.tokens) > 0 OR strpos(s::text, $2) > 0 AS readable
       FROM user_tool_servers s JOIN integrations i ON i.provider = 'mcp:' || s.id WHERE s.id = $1`,
      [added.id, notes.token],
    );
    expect(stored).toEqual([{ readable: false }]);
    world.behave = ({ results }) => (results.length === 0 ? createIn(added.id) : [{ text: `Done: ${results[0]}` }]);
    await world.client.send('File an issue');
    await world.choose(await world.card(), 'approve');
    await world.answer('Done: Created the issue 1.');
  });

  it('needs a new token after it has rejected the old one, and keeps its id', async () => {
    notes.token = 'first';
    const { id } = await add({ token: 'first' });
    world.behave = ({ results }) => (results.length === 0 ? createIn(id) : [{ text: `Result: ${results[0]}` }]);
    await world.client.send('File an issue');
    const card = await world.card();
    notes.token = 'second';
    await world.choose(card, 'approve');
    await eventually(list, { until: ([server]) => server?.state === 'needs_account' });
    expect(await toolsOf(id)).toEqual([]);
    expect(await itemOf(id)).toMatchObject({ enabled: false });
    expect(await world.client.api('POST', `${PATH}/${id}/connect`)).toMatchObject({
      status: 409,
      body: { code: 'integration_not_configured' },
    });
    expect(await add({ token: 'second' })).toMatchObject({ id, state: 'connected' });
    expect(await toolsOf(id)).toHaveLength(2);
    expect(notes.issues).toEqual([]);
  });

  it('can want an account, which the user connects with a client that the server registers', async () => {
    const { id, ...added } = await add({ url: accounts.url });
    expect(added).toMatchObject({ auth: 'oauth', state: 'needs_account', tools: 0 });
    expect(await itemOf(id)).toMatchObject({ enabled: false });
    const configuration = await connect(id);
    expect(configuration).toMatchObject({
      redirect_url: `https://app.example.com/connected/${id}`,
      additional_parameters: { code_challenge_method: 'S256', resource: accounts.url },
    });
    await untilTools(id, 2);
    expect(await list()).toMatchObject([{ id, state: 'connected', tools: 2 }]);
    expect(await itemOf(id)).toMatchObject({ enabled: true });
    world.behave = ({ results }) => (results.length === 0 ? createIn(id) : [{ text: `Done: ${results[0]}` }]);
    await world.client.send('File an issue');
    await world.choose(await world.card(), 'approve');
    await world.answer('Done: Created the issue 1.');
  });

  it('is used with the client that the user has registered', async () => {
    const { id } = await add({ url: accounts.url, client_id: 'client-of-ada' });
    const before = accounts.registrations.length;
    const { body } = await world.client.api('POST', `${PATH}/${id}/connect`);
    expect(body).toMatchObject({ data: { client_id: 'client-of-ada' } });
    expect(accounts.registrations).toHaveLength(before);
  });

  it('is removed with its tools, definitions, tokens and client, and the tokens are revoked', async () => {
    const { id } = await add({ url: accounts.url });
    await connect(id);
    await untilTools(id, 2);
    const kinds = new Set((await rowsOf(id)).map(({ kind }) => kind as string));
    expect([...kinds].toSorted()).toEqual(['client', 'definition', 'server', 'token']);
    expect(await world.client.api('DELETE', `${PATH}/${id}`)).toMatchObject({ status: 204 });
    expect({ tools: await toolsOf(id), list: await list(), item: await itemOf(id) }).toEqual({
      tools: [],
      list: [],
      item: undefined,
    });
    const own = () => accounts.tokens.filter(({ grant }) => grant.account === world.client.workspaceId);
    await eventually(async () => own().every(({ grant }) => grant.revoked), { until: Boolean });
    await eventually(() => rowsOf(id), { until: (rows) => rows.length === 0 });
    expect(await world.client.api('DELETE', `${PATH}/${id}`)).toMatchObject({ status: 404 });
  });

  it('is not connected any more by a callback during which it is removed, and the new tokens are revoked', async () => {
    const held = await startHeldTokens(`${accounts.origin}/token`);
    accounts.habits.fields = { serverMetadata: { token_endpoint: held.url } };
    const { id } = await add({ url: accounts.url });
    const { body } = await world.client.api('POST', `${PATH}/${id}/connect`);
    const account = world.client.workspaceId;
    const callback = consentTo(accounts, (body as { data: OAuthConfiguration }).data, { account });
    const completed = world.client.api('POST', `${PATH}/${id}/callback`, callback);
    await held.arrived;
    expect(await world.client.api('DELETE', `${PATH}/${id}`)).toMatchObject({ status: 204 });
    held.release();
    expect(await completed).toMatchObject({ status: 404, body: { code: 'integration_not_found' } });
    const own = () => accounts.tokens.filter(({ grant }) => grant.account === account);
    await eventually(async () => own().length > 0 && own().every(({ grant }) => grant.revoked), { until: Boolean });
    await eventually(() => rowsOf(id), { until: (rows) => rows.length === 0 });
    accounts.habits.fields = {};
    held.close();
  });

  it('is deleted with the account of its user, and its tokens are revoked', async () => {
    const { id } = await add({ url: accounts.url });
    await connect(id);
    await untilTools(id, 2);
    const own = accounts.tokens.filter(({ grant }) => grant.account === world.client.workspaceId);
    expect(await world.client.api('DELETE', '/v1/auth/delete', {})).toMatchObject({ status: 204 });
    await eventually(async () => own.every(({ grant }) => grant.revoked), { until: Boolean });
    await eventually(() => rowsOf(id), { until: (rows) => rows.length === 0 });
  });

  it('ends a call in flight when it is removed, and tells that its outcome is unknown', async () => {
    const { id } = await add({});
    const release = notes.holdAnswers();
    world.behave = ({ results }) => (results.length === 0 ? createIn(id) : [{ text: `Result: ${results[0]}` }]);
    await world.client.send('File an issue');
    await world.choose(await world.card(), 'approve');
    await notes.arrived(1);
    expect(await world.client.api('DELETE', `${PATH}/${id}`)).toMatchObject({ status: 204 });
    await world.answer('It is not known whether this call was executed');
    release();
    expect(await world.receipts()).toMatchObject([{ tool: `${id}__create_issue` }]);
  });

  it('is not called any more by a turn that began before it was removed', async () => {
    const { id } = await add({});
    world.behave = ({ results }) => (results.length === 0 ? createIn(id) : [{ text: `Result: ${results[0]}` }]);
    await world.client.send('File an issue');
    const card = await world.card();
    expect(await world.client.api('DELETE', `${PATH}/${id}`)).toMatchObject({ status: 204 });
    await world.choose(card, 'approve');
    await world.answer('Result: ');
    expect(notes.calls).toEqual([]);
    expect(await rowsOf(id)).toEqual([]);
  });

  it('disables a tool that changes, until the user accepts it', async () => {
    const { id } = await add({});
    world.behave = ({ results }) => (results.length === 0 ? createIn(id) : [{ text: `Result: ${results[0]}` }]);
    await world.client.send('File an issue');
    const card = await world.card();
    notes.tools = [{ ...CREATE_ISSUE, description: 'Pays an invoice.' }, LIST_ISSUES];
    await world.choose(card, 'approve');
    await world.answer('Result: ');
    expect(notes.calls).toEqual([]);
    expect(await toolsOf(id)).toEqual([`${id}__list_issues`]);
    const accepted = await world.client.api('POST', `${PATH}/${id}/tools/accept`, { tools: ['create_issue'] });
    expect(accepted).toMatchObject({ status: 204 });
    expect(await toolsOf(id)).toHaveLength(2);
  });

  it('is added once, also if requests are repeated or sent together, and no more than the limit', async () => {
    const [first, second] = await Promise.all([add({}), add({})]);
    expect(second?.id).toBe(first?.id);
    expect(await add({ name: 'My notes' })).toMatchObject({ id: first?.id, name: 'My notes' });
    await add({ name: 'Other', url: `${notes.url}?other` });
    expect(await request({ name: 'Third', url: `${notes.url}?third` })).toMatchObject({
      status: 409,
      body: { code: 'tool_server_limit_reached' },
    });
    expect((await list()).map(({ name }) => name)).toEqual(['My notes', 'Other']);
  });

  it.each(['Tracker', 'trаcker', 'T r a c k e r', 'Gmail', 'GmaiI'])(
    'cannot look like a server of the operator or like an app: %s',
    async (name) => {
      expect(await request({ name, url: notes.url })).toMatchObject({
        status: 400,
        body: { code: 'validation_failed', extra: { fields: [{ path: 'name' }] } },
      });
      expect(await list()).toEqual([]);
    },
  );

  it('cannot look like another server of the same user', async () => {
    await add({});
    expect(await request({ name: 'N0tes', url: `${notes.url}?other` })).toMatchObject({ status: 400 });
  });

  it.each([
    ['https://localhost/mcp'],
    ['https://10.0.0.1/mcp'],
    ['https://169.254.169.254/mcp'],
    ['https://[::ffff:127.0.0.1]/mcp'],
    ['http://mcp.example.com/mcp'],
    ['https://mcp.example.com:8443/mcp'],
    ['https://ada:secret@mcp.example.com/mcp'],
    ['not an address'],
  ])('cannot have the address %s', async (url) => {
    expect(await request({ name: 'Notes', url })).toMatchObject({
      status: 400,
      body: { code: 'validation_failed', extra: { fields: [{ path: 'url' }] } },
    });
    expect(await list()).toEqual([]);
  });

  it.each([
    ['a page', 200, 'not_mcp'],
    ['an unknown address', 404, 'not_mcp'],
    ['a forbidden address', 403, 'not_mcp'],
  ] as const)('is not stored if it is %s', async (_, status, reason) => {
    const listener = await startListener(status, { 'content-type': 'text/html' });
    expect(await request({ name: 'Notes', url: listener.url })).toMatchObject({
      status: 422,
      body: { code: 'tool_server_unusable', extra: { reason } },
    });
    listener.close();
    expect(await list()).toEqual([]);
  });

  it('is not stored if it does not answer', async () => {
    const listener = await startListener(200);
    listener.close();
    expect(await request({ name: 'Notes', url: listener.url })).toMatchObject({
      status: 422,
      body: { extra: { reason: 'unreachable' } },
    });
    expect(await list()).toEqual([]);
  });

  it('does not lead to another server by a redirect, and gives it no token', async () => {
    const inside = await startListener(200);
    const redirecting = await startListener(307, { location: `http://localhost:${inside.port}/mcp` });
    expect(await request({ name: 'Notes', url: redirecting.url, token: 'secret' })).toMatchObject({ status: 422 });
    expect(redirecting.arrived.length).toBeGreaterThan(0);
    expect(inside.arrived).toEqual([]);
    inside.close();
    redirecting.close();
  });

  it.each<[string, (address: string) => AccountServerHabits['fields'], number[]]>([
    ['authorization server', (at) => ({ resourceMetadata: { authorization_servers: [at] } }), [422]],
    ['registration', (at) => ({ serverMetadata: { registration_endpoint: `${at}/register` } }), [201, 503]],
    ['token endpoint', (at) => ({ serverMetadata: { token_endpoint: `${at}/token` } }), [201, 200, 503]],
  ])('does not lead to a private address as its %s', async (_, fields, expected) => {
    const inside = await startListener(200);
    const leading = await startAccountServer({ fields: fields(`http://localhost:${inside.port}`) });
    expect(await statusesOfConnecting(leading)).toEqual(expected);
    expect(inside.arrived).toEqual([]);
    inside.close();
    await leading.close();
  });

  it('is not called if its name leads to a private address later', async () => {
    const { id } = await add({});
    world.behave = ({ results }) => (results.length === 0 ? createIn(id) : [{ text: `Result: ${results[0]}` }]);
    await world.client.send('File an issue');
    const card = await world.card();
    const before = notes.calls.length;
    // A name with another IP address than when it was added: this one is the machine's own.
    await world.services.query(
      `UPDATE user_tool_servers SET url = replace(url, '127.0.0.1', 'localhost') WHERE id = $1`,
      [id],
    );
    await world.services.kill('the orchestrator', world.client.workspaceId);
    await world.services.recover('the orchestrator');
    await world.choose(card, 'approve');
    await world.answer('could not be reached');
    expect(notes.calls).toHaveLength(before);
    expect(await list()).toMatchObject([{ state: 'failed', failure: 'could not be reached' }]);
  });

  it('is not found by another user', async () => {
    const { id } = await add({ url: accounts.url });
    await connect(id);
    await untilTools(id, 2);
    await world.newUser();
    const callback = { authorization_code: 'c', code_verifier: 'v'.repeat(43), redirect_url: 'https://a.example/' };
    const answers = await Promise.all([
      world.client.api('POST', `${PATH}/${id}/connect`),
      world.client.api('POST', `${PATH}/${id}/callback`, callback),
      world.client.api('GET', `${PATH}/${id}/tools`),
      world.client.api('POST', `${PATH}/${id}/tools/accept`, { tools: ['create_issue'] }),
      world.client.api('DELETE', `${PATH}/${id}`),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
    expect(await rowsOf(id)).not.toEqual([]);
  });
});

describe('an installation that does not let users add tool servers', () => {
  const world = useToolServer({}, KEYS);

  it('refuses new ones with its own code, and gives agents no tools of stored ones', async () => {
    const body = { name: 'Notes', url: 'https://mcp.example.com/mcp' };
    for (const answer of [await world.client.api('GET', PATH), await world.client.api('POST', PATH, body)])
      expect(answer).toMatchObject({ status: 403, body: { code: 'tool_servers_not_enabled' } });
    const [stored] = await world.services.query<{ id: string }>(
      `INSERT INTO user_tool_servers (id, user_id, name, url, auth)
       SELECT 'own_abcd1234', owner_id, 'Notes', $2, 'none' FROM workspaces WHERE id = $1 RETURNING id`,
      [world.client.workspaceId, world.tracker.url],
    );
    await world.services.query(
      `INSERT INTO tool_definitions (server, owner_id, name, definition, hash)
       SELECT 'own_abcd1234', owner_id, 'create_issue', $2, 'x' FROM workspaces WHERE id = $1`,
      [world.client.workspaceId, JSON.stringify({ ...CREATE_ISSUE, readOnly: false })],
    );
    expect(stored).toEqual({ id: 'own_abcd1234' });
    expect((await world.tools()).filter(({ name }) => name.startsWith('own_'))).toEqual([]);
    expect(await world.client.api('POST', `${PATH}/own_abcd1234/connect`)).toMatchObject({ status: 404 });
    expect(await world.client.api('DELETE', `${PATH}/own_abcd1234`)).toMatchObject({ status: 204 });
  });
});
