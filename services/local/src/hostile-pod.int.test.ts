import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { freePort } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { type AppServers, type AppUser, startAppServers, startAppUser } from '../test/app-servers.js';
import { type HostilePod, type HostilePods, startHostilePods } from '../test/hostile-pods.js';
import { modelSettings } from '../test/model-settings.js';
import { type Program, runProgram } from '../test/program.js';
import { listening, type SeparateServices, startSeparateServices } from '../test/separate.js';
import { startToolServer, type TestToolServer } from '../test/tool-server.js';

const API_KEY = `provider-key-${randomUUID()}`;
/** A document of another user. */
const SECRET = `The formula is ${randomUUID()}.`;
const PIN = { key: 'pin', content: 'The PIN is 4711.' };
const mailTo = (to: string) => ({ to: [to], subject: 'Hello', body: 'Hello' });

describe('a pod that runs the code of an attacker', () => {
  let pods: HostilePods;
  let tools: TestToolServer;
  let servers: AppServers;
  let services: SeparateServices;
  let gateway: Program;
  let gatewayUrl: string;
  let user: AppUser;
  let victim: AppUser;
  let pod: HostilePod;
  let tests = 0;
  /** This test's ids are new. */
  const id = (name: string) => `${name}-${tests}`;

  beforeAll(async () => {
    pods = await startHostilePods();
    tools = await startToolServer();
    servers = await startAppServers(() => []);
    const port = await freePort();
    gatewayUrl = `http://127.0.0.1:${port}`;
    const key = () => `test:${randomBytes(32).toString('hex')}`;
    const keys = { MODEL_TOKEN_SIGNING_KEY: key(), MODEL_CALLS_KEY: key() };
    const shared = { ...modelSettings(servers.model), OPENAI_API_KEY: API_KEY, ...keys };
    services = await startSeparateServices({
      ...servers.env,
      ...shared,
      ...tools.env,
      MODEL_GATEWAY_URL: gatewayUrl,
      RUNTIME_PROGRAM: pods.program,
    });
    gateway = await listening(
      runProgram('services/model-gateway/dist/main.js', [], {
        ...shared,
        INTERNAL_API_URL: services.internal.url,
        HTTP_HOST: '127.0.0.1',
        HTTP_PORT: String(port),
        OPS_PORT: '0',
      }),
      'listening',
    );
    victim = await startAppUser(services, servers);
    await say(victim);
    const victimPod = await pods.pod(victim.workspaceId);
    await victimPod.turn();
    step(victimPod, 1);
    request(victimPod, 'created', 'create_artifact', { title: 'Formula', content: SECRET });
    await victimPod.resolution('created');
    done(victimPod);
    await ended(victim);
    user = await startAppUser(services, servers);
    await user.connect('gmail');
    await user.permit('gmail', 'ask');
    await services.query(
      `INSERT INTO agent_memories (agent_id, key, content, category)
       SELECT id, $2, $3, 'core' FROM agents WHERE workspace_id = $1`,
      [user.workspaceId, PIN.key, PIN.content],
    );
  });
  beforeEach(() => {
    tests += 1;
    tools.queries = [];
    (servers.google.requests as string[]).length = 0;
  });
  afterAll(async () => {
    user?.close();
    victim?.close();
    await gateway?.stop();
    await services?.close();
    await servers?.close();
    await tools?.close();
    await pods?.close();
  });

  async function say({ api, workspaceId, conversationId }: AppUser, conversation = conversationId): Promise<void> {
    const path = `/v1/workspaces/${workspaceId}/conversations/${conversation}/messages`;
    expect((await api('POST', path, { content: { type: 'text', text: 'Hello' } })).status).toBe(201);
  }
  /** Waits until no turn runs. A turn that the orchestrator runs again, after it has lost the stream, ends too. */
  const ended = ({ workspaceId }: AppUser) =>
    eventually(async () => {
      if (pod?.hasTurn() === true) {
        await pod.turn();
        done(pod);
      }
      const sql = `SELECT FROM turns WHERE workspace_id = $1 AND status IN ('queued', 'running')`;
      return (await services.query(sql, [workspaceId])).length === 0;
    });

  /** Begins a turn in a conversation without content from others. */
  async function begin() {
    const body = { type: 'swarm', agent_id: null };
    const { body: created } = await user.api('POST', `/v1/workspaces/${user.workspaceId}/conversations`, body);
    await say(user, (created as { data: { id: string } }).data.id);
    pod = await pods.pod(user.workspaceId);
    return (await pod.turn()) as Required<Awaited<ReturnType<HostilePod['turn']>>> & {
      request: { toolToken: string; modelToken: string };
    };
  }
  const step = (one: HostilePod, number: number, body = '{}') =>
    one.emit({ entry: { number, kind: 'ENTRY_KIND_STEP', body }, barrier: true });
  const request = (one: HostilePod, callId: string, tool: string, input: object) =>
    one.emit({ request: { callId, tool, arguments: JSON.stringify(input) } });
  const announce = (callId: string, query: string) =>
    pod.emit({
      tool: { callId, tool: 'web_search_tool', state: 'TOOL_STATE_RUNNING', query, description: 'Searching for tea' },
      barrier: true,
    });
  const done = (one: HostilePod) => one.emit({ done: { outcome: 'OUTCOME_COMPLETED', text: 'ok' } });
  const sent = () => servers.google.requests.filter((method) => method === 'gmail.users.messages.send');

  /** Sends a search past the orchestrator. @returns the status, and whether the search failed */
  async function search(token: string, query: string) {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    const params = { name: 'web_search_tool', arguments: { query } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const { status, text } = await pod.fetch(tools.url, { headers, body });
    return { status, failed: status !== 200 || text.includes('"isError":true') || !text.includes('"result"') };
  }
  /** The token with another workspace. */
  function tampered(token: string, workspaceId: string): string {
    const [header, claims = '', signature] = token.split('.');
    const changed = { ...JSON.parse(Buffer.from(claims, 'base64url').toString()), sub: workspaceId };
    return [header, Buffer.from(JSON.stringify(changed)).toString('base64url'), signature].join('.');
  }

  it('invariant 11: searches only for what it has announced, with a token for one query', async () => {
    const { request: turn } = await begin();
    expect(await search(turn.toolToken, 'unannounced')).toMatchObject({ failed: true });
    step(pod, 1);
    announce(id('tea'), 'tea');
    const { toolToken = '' } = await pod.resolution(id('tea'));
    expect(await search(toolToken, 'tea')).toEqual({ status: 200, failed: false });
    expect(await search(toolToken, PIN.content)).toMatchObject({ failed: true });
    expect(await search(tampered(toolToken, victim.workspaceId), 'tea')).toEqual({ status: 401, failed: true });
    announce(id('pin'), `what is pin ${PIN.content}`);
    const refused = await pod.resolution(id('pin'));
    expect(refused).toMatchObject({ failed: true, text: expect.stringContaining('text of the memories') });
    expect(refused.toolToken).toBeUndefined();
    done(pod);
    await ended(user);
    expect(tools.queries).toEqual(['tea']);
  });

  it('gets nothing with its tokens from other parts of the platform, or for another workspace', async () => {
    const { request: turn, callToken } = await begin();
    const model = { model: 'scripted', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 10, stream: true };
    const ask = async (token: string) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const url = `${gatewayUrl}/openai/v1/chat/completions`;
      return (await pod.fetch(url, { headers, body: JSON.stringify(model) })).status;
    };
    const call = callToken.replace('Bearer ', '');
    const before = servers.model.requests.length;
    for (const token of [turn.toolToken, call, tampered(turn.modelToken, victim.workspaceId), '', 'x'])
      expect(await ask(token)).toBe(401);
    expect(servers.model.requests).toHaveLength(before);
    for (const token of [turn.modelToken, call]) expect((await search(token, 'tea')).status).toBe(401);
    const paths = [
      `${services.internal.url}/internal/v1/model-calls`,
      `${services.internal.url}/admin/v1/users`,
      `${services.restUrl}/v1/workspaces`,
      `${services.restUrl}/v1/workspaces/${victim.workspaceId}/artifacts`,
    ];
    for (const url of paths) {
      for (const token of [turn.toolToken, turn.modelToken, call]) {
        const headers = { authorization: `Bearer ${token}`, 'x-token': token };
        const { status } = await pod.fetch(url, { method: 'GET', headers });
        expect([401, 404]).toContain(status);
      }
    }
    done(pod);
    await ended(user);
    const usage = await victim.api('GET', `/v1/workspaces/${victim.workspaceId}/usage`);
    expect(usage.body).toMatchObject({ data: { tokens_used: 0 } });
  });

  it('invariant 5: sends the mail that the user approved, once, and no other', async () => {
    await begin();
    step(pod, 1);
    request(pod, id('c'), 'send_mail', mailTo('bob@example.com'));
    pod.emit({ waiting: {} });
    const card = await user.card();
    expect(sent()).toEqual([]);
    // The turn is suspended. Before that, it would learn the choice without a further turn.
    await ended(user);
    expect((await user.choose(card, 'approve')).status).toBe(200);
    const { request: resumed } = await pod.turn();
    expect(resumed.journal).toHaveLength(1);
    request(pod, id('c'), 'send_mail', mailTo('bob@example.com'));
    await pod.resolution(id('c'));
    request(pod, id('c'), 'send_mail', mailTo('bob@example.com'));
    request(pod, id('d'), 'send_mail', mailTo('bob@example.com'));
    request(pod, id('c'), 'send_mail', mailTo('attacker@evil.example'));
    done(pod);
    await ended(user);
    expect(sent()).toHaveLength(1);
    expect(servers.google.mailbox.mails.map(({ raw }) => raw).join()).not.toContain('attacker@evil.example');
  });

  it.each<[string, () => void]>([
    [
      'changes the arguments of a call that waits',
      () => request(pod, id('c'), 'send_mail', mailTo('eve@evil.example')),
    ],
    ['requests a tool that does not exist', () => request(pod, id('e'), 'transfer', {})],
    [
      'reports that it has sent a call',
      () => pod.emit({ tool: { callId: id('c'), tool: 'send_mail', state: 'TOOL_STATE_COMPLETED' } }),
    ],
    [
      'announces a call of a tool of the orchestrator',
      () => pod.emit({ tool: { callId: id('f'), tool: 'send_mail', state: 'TOOL_STATE_RUNNING' }, barrier: true }),
    ],
    ['sends text without end', () => pod.emit({ chunk: { text: 'x'.repeat(8_000_000) } })],
    ['sends an oversized entry', () => step(pod, 2, JSON.stringify('x'.repeat(9_000_000)))],
    ['skips entries of the journal', () => step(pod, 7)],
    ['chooses an oversized id', () => request(pod, 'x'.repeat(1_000_000), 'send_mail', mailTo('eve@evil.example'))],
  ])('has no effect if it %s', async (_what, attack) => {
    await begin();
    step(pod, 1);
    request(pod, id('c'), 'send_mail', mailTo('bob@example.com'));
    attack();
    done(pod);
    await ended(user);
    expect(sent()).toEqual([]);
    expect(tools.queries).toEqual([]);
  });

  it.each(['read_artifact', 'revise_artifact', 'finish_artifact'])(
    'cannot use the document of another user: %s',
    async (tool) => {
      const [document] = await services.query<{ id: string; version: number }>(
        'SELECT id, version FROM artifacts WHERE workspace_id = $1',
        [victim.workspaceId],
      );
      await begin();
      step(pod, 1);
      const revision = tool === 'read_artifact' ? {} : { expected_version: 1 };
      const content = tool === 'revise_artifact' ? { content: 'Stolen.' } : {};
      request(pod, id('a'), tool, { artifact_id: document!.id, ...revision, ...content });
      expect(await pod.resolution(id('a'))).toMatchObject({ failed: true });
      done(pod);
      await ended(user);
      const path = `/v1/workspaces/${victim.workspaceId}/artifacts/${document!.id}`;
      expect((await victim.api('GET', path)).body).toMatchObject({ data: { version: 1 } });
    },
  );

  it('has received no secret of the platform and of another user', async () => {
    await begin();
    done(pod);
    await ended(user);
    const received = pods.received(user.workspaceId);
    expect(received).toContain(PIN.content);
    for (const secret of [SECRET, API_KEY, services.internal.key, ...Object.values(tools.env).slice(1)])
      expect(received).not.toContain(secret);
  });
});
