import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type ModelServer, startModelServer, textOf } from '@uswarm/dev-servers';
import type { AgentSummary, AgentTool } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { type NpmServer, startNpmServer } from '@uswarm/testkit/npm-mcp-servers';
import { startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { modelSettings } from '../test/model-settings.js';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';

const SERVERS: readonly NpmServer[] = ['everything', 'filesystem', 'memory'];
const TIMEOUT_S = 2;

describe('tool servers from npm', () => {
  const cleanup = new AsyncDisposableStack();
  let services: SeparateServices;
  let model: ModelServer;
  let client: TestClient;
  let folder: string;
  /** Calls that the model makes, one in each step. */
  let planned: { name: string; arguments: object }[] = [];
  /** Tool results, in order. */
  let results: string[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'uswarm-npm-servers-'));
    cleanup.defer(() => rm(folder, { recursive: true, force: true }));
    const running = await Promise.all(SERVERS.map((name) => startNpmServer(name, { folder })));
    for (const server of running) cleanup.defer(() => server.close());
    const servers = running.map(({ url }, index) => ({
      id: SERVERS[index],
      name: `The ${SERVERS[index]}`,
      url,
      trust_hints: true,
      limits: { call_timeout_s: TIMEOUT_S },
    }));
    const file = join(folder, 'tool-servers.json');
    await writeFile(file, JSON.stringify({ servers }));
    model = await startModelServer({
      script: ({ messages }) => {
        const told = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1);
        results = told.filter(({ role }) => role === 'tool').map(({ content }) => textOf(content));
        const next = planned[results.length];
        return next === undefined ? [{ text: 'Done.' }] : [{ toolCalls: [next] }];
      },
    });
    cleanup.defer(() => model.close());
    services = await startSeparateServices({ ...modelSettings(model), SUMMARY_WORKERS: '0', TOOL_SERVERS_FILE: file });
    cleanup.defer(() => services.close());
    const listed = 'SELECT DISTINCT server FROM tool_definitions';
    await eventually(() => services.query(listed), { until: (rows) => rows.length === SERVERS.length });
  });
  afterAll(async () => {
    client?.close();
    await cleanup.disposeAsync();
  });
  beforeEach(async () => {
    client?.close();
    const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    client = await startTestClient({ ...services, token, eventDeadlineMs: 15_000 });
  });

  async function say(...calls: typeof planned): Promise<void> {
    planned = calls;
    await client.send('Please do it');
  }

  const ended = () => client.shown(({ content }) => content.type === 'text' && content.text.endsWith('Done.'));

  const cardFor = (tool: string) =>
    client.shown(({ content }) => content.type === 'action_card' && content.approval?.tool === tool);

  async function approve(tool: string): Promise<string> {
    const { id, content } = await cardFor(tool);
    const path = `/v1/workspaces/${client.workspaceId}/messages/${id}/action`;
    expect((await client.api('POST', path, { action_id: 'approve' })).status).toBe(200);
    return content.type === 'action_card' ? (content.description ?? '') : '';
  }

  it.each([
    { server: 'everything', reads: 'everything__echo', changes: 'everything__toggle-simulated-logging' },
    { server: 'filesystem', reads: 'filesystem__read_text_file', changes: 'filesystem__write_file' },
    { server: 'memory', reads: 'memory__search_nodes', changes: 'memory__create_entities' },
  ])('list their tools as settings of each agent: $server', async ({ server, reads, changes }) => {
    const agents = (await client.api('GET', `/v1/workspaces/${client.workspaceId}/agents`)).body as {
      data: AgentSummary[];
    };
    expect(agents.data.length).toBeGreaterThan(1);
    for (const { id } of agents.data) {
      const { data } = (await client.api('GET', `/v1/agents/${id}/tools`)).body as { data: AgentTool[] };
      const own = data.filter(({ name }) => name.startsWith(`${server}__`));
      expect(own.find(({ name }) => name === reads)).toMatchObject({ enabled: true, permission: 'allow' });
      expect(own.find(({ name }) => name === changes)).toMatchObject({ enabled: true, permission: 'ask' });
      for (const { description } of own) expect(description).toMatch(new RegExp(`^The ${server}: `));
    }
  });

  it('write a file once, after the user has seen its path and all of its content', async () => {
    const path = join(folder, 'note.txt');
    const content = `Ünïcode “quoted”\n${'A line of the note.\n'.repeat(200)}The end.`;
    await say({ name: 'filesystem__write_file', arguments: { path, content } });
    await cardFor('filesystem__write_file');
    await expect(stat(path)).rejects.toMatchObject({ code: 'ENOENT' });
    expect(await approve('filesystem__write_file')).toBe(
      `path: “${path}”\ncontent: “${content.replaceAll('\n', '\n  ')}”`,
    );
    await ended();
    expect(await readFile(path, 'utf8')).toBe(content);
    const sql = 'SELECT tool, status FROM receipts WHERE workspace_id = $1';
    expect(await services.query(sql, [client.workspaceId])).toEqual([
      { tool: 'filesystem__write_file', status: 'succeeded' },
    ]);
  });

  it('refuse a path outside their folder, in their own words', async () => {
    const path = join(tmpdir(), `outside-${randomUUID()}.txt`);
    await say({ name: 'filesystem__write_file', arguments: { path, content: 'x' } });
    await approve('filesystem__write_file');
    await ended();
    expect(results).toEqual([expect.stringContaining('outside allowed directories')]);
    await expect(stat(path)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('remember what the user approved, and find it without asking', async () => {
    const entity = { name: 'Ada', entityType: 'person', observations: ['wrote the first program'] };
    await say(
      { name: 'memory__create_entities', arguments: { entities: [entity] } },
      { name: 'memory__search_nodes', arguments: { query: 'program' } },
    );
    expect(await approve('memory__create_entities')).toBe(`entities: “${JSON.stringify([entity])}”`);
    await ended();
    expect(results[1]).toContain(JSON.stringify({ entities: [entity], relations: [] }));
  });

  it('return images and structured content as text that names them', async () => {
    await say(
      { name: 'everything__get-tiny-image', arguments: {} },
      { name: 'everything__get-structured-content', arguments: { location: 'Chicago' } },
      { name: 'everything__get-resource-links', arguments: { count: 2 } },
    );
    await ended();
    expect(results).toEqual([
      expect.stringMatching(/\[image: image\/png, \d+ bytes\]/),
      expect.stringContaining('{"temperature":36,"conditions":"Light rain / drizzle","humidity":82}'),
      expect.stringContaining('[link: Text Resource 2 demo://resource/dynamic/text/2]'),
    ]);
    expect(results.join()).not.toContain('iVBOR');
  });

  it('ask the user with all types of fields', async () => {
    const tool = 'everything__trigger-elicitation-request';
    await say({ name: tool, arguments: {} });
    await approve(tool);
    const card = await client.shown(({ content }) => content.type === 'action_card' && content.form !== undefined);
    const form = card.content.type === 'action_card' ? (card.content.form ?? []) : [];
    expect(form.map(({ name, type }) => `${name}: ${type}`)).toEqual([
      'name: text',
      'check: boolean',
      'firstLine: text',
      'email: email',
      'homepage: url',
      'birthdate: date',
      'integer: integer',
      'number: number',
      'untitledSingleSelectEnum: choice',
      'untitledMultipleSelectEnum: choices',
      'titledSingleSelectEnum: choice',
      'titledMultipleSelectEnum: choices',
      'legacyTitledEnum: choice',
    ]);
    const values = Object.fromEntries(form.map(({ name, initial = [] }) => [name, initial]));
    const path = `/v1/workspaces/${client.workspaceId}/messages/${card.id}/action`;
    const entered = { ...values, name: ['Ada Lovelace'], check: ['true'], number: ['2.5'] };
    expect((await client.api('POST', path, { action_id: 'submit', values: entered })).status).toBe(200);
    await ended();
    expect(results).toEqual([expect.stringContaining('User provided the requested information')]);
    expect(results.join()).toContain('Name: Ada Lovelace');
    expect(results.join()).toContain('Favorite Number: 2.5');
  });

  it.each([
    ['submit', 'User completed the URL elicitation flow'],
    ['decline', 'needs the user to open an address first, which did not happen. Nothing was changed.'],
  ])('ask the user to open addresses, before and during a call: %s', async (action, result) => {
    const tool = 'everything__trigger-url-elicitation';
    const url = `https://shop.example/pay/${randomUUID()}`;
    await say({ name: tool, arguments: { url, errorPath: true } });
    await approve(tool);
    const asked = (address: string) =>
      client.shown(({ content }) => content.type === 'action_card' && content.open_url === address);
    const answer = ({ id }: { id: string }) =>
      client.api('POST', `/v1/workspaces/${client.workspaceId}/messages/${id}/action`, { action_id: action });
    const first = await asked('https://modelcontextprotocol.io/');
    expect(first.content).toMatchObject({
      description: expect.stringContaining('It asks you to open https://modelcontextprotocol.io/'),
      actions: [{ id: 'submit', label: 'I have opened it' }, { label: 'Decline' }],
    });
    expect((await answer(first)).status).toBe(200);
    if (action === 'submit') await answer(await asked(url));
    await ended();
    expect(results).toEqual([expect.stringContaining(result)]);
  });

  it('may work longer than a call without progress, if they report progress', async () => {
    const duration = 1.5 * TIMEOUT_S;
    await say({ name: 'everything__trigger-long-running-operation', arguments: { duration, steps: 6 } });
    await ended();
    expect(results).toEqual([expect.stringContaining(`completed. Duration: ${duration} seconds, Steps: 6.`)]);
  });
});
