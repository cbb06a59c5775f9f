import { randomUUID } from 'node:crypto';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type {
  ApiToken,
  Conversation,
  Export,
  AgentMemory,
  MessagePage,
  ReceiptKeySet,
  ReceiptPage,
  TurnStepPage,
  UserProfile,
  Workspace,
} from '@uswarm/contract';
import { EXAMPLE } from '@uswarm/contract/documents';
import type { OAuthServer } from '@uswarm/dev-servers';
import { openSwarmFile } from '@uswarm/swarm-file';
import { eventually } from '@uswarm/testkit/eventually';
import { strFromU8, unzipSync } from 'fflate';
import { sql } from 'kysely';
import { createApiClient } from '../../../test/api-client.js';
import { type UserResources, createUserResources } from '../../../test/resource-fixtures.js';
import { integrationEnvironment, startProviderServer } from '../../../test/integrations.js';
import { useKillableOrchestrators } from '../../../test/killable-orchestrators.js';
import { startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../../test/test-orchestrator.js';
import { download, type Downloaded, linkRefusal } from '../../../test/uploads.js';
import { WEEKDAYS } from '../../../test/schedules.js';
import { ISSUES } from '../../../test/triggers.js';
import { storeWorkflow } from '../../../test/workflows.js';
import { EXPORT_JOB } from './export-building.js';

const EXPORT = '/v1/users/export';
const PUSH_TOKEN = `fcm:${randomUUID()}`;

type Client = Pick<TestUser, 'get' | 'post'>;
const start = async (user: Client): Promise<Export> =>
  (await user.post<{ data: Export }>(EXPORT, undefined, 202)).body.data;
const stateOf = async (user: Client, id: string): Promise<Export> =>
  (await user.get<{ data: Export }>(`/v1/users/exports/${id}`)).body.data;
const ready = async (user: Client, id: string): Promise<Export> => {
  const state = await eventually(() => stateOf(user, id), { until: ({ status }) => status === 'ready' });
  expect(state).toMatchObject({ id, status: 'ready', url: expect.any(String) });
  return state;
};
async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}

describe('an export', () => {
  let server: OAuthServer;
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    server = await startProviderServer();
    uswarm = await startTestOrchestrator({
      environment: { ...integrationEnvironment(server), UPKEEP_WORKERS: '2' },
    });
  });
  afterAll(async () => {
    await uswarm.close();
    await server.close();
  });

  // `attempts`: a job whose handler is running stays due.
  const makeDue = () =>
    sql`UPDATE work SET run_at = now(), attempts = 0 WHERE kind = ${EXPORT_JOB}`.execute(uswarm.database);
  const objectOf = async (id: string): Promise<string> =>
    (await uswarm.database.selectFrom('exports').select('object_id').where('id', '=', id).executeTakeFirstOrThrow())
      .object_id ?? '';
  const rowsOf = (id: string) => uswarm.database.selectFrom('exports').selectAll().where('id', '=', id).execute();

  describe('of a user with one row of each kind', () => {
    let owner: UserResources;
    let other: UserResources;
    let archive: Record<string, string>;
    let state: Export;
    let answer: Downloaded;
    beforeAll(async () => {
      [owner, other] = [await createUserResources(uswarm, server), await createUserResources(uswarm, server)];
      await sql`
        INSERT INTO user_tool_servers (id, user_id, name, url, auth)
        VALUES ('own_abcd1234', ${await uswarm.idOf(owner.user)}, 'Notes', 'https://mcp.example.com/mcp', 'none')`.execute(
        uswarm.database,
      );
      await sql`
        INSERT INTO webhooks (id, workspace_id, url, description, events, queued_seq)
        VALUES (gen_random_uuid(), ${owner.home.workspaceId}, 'https://hooks.example.com/', 'Tickets', '{}', 0)`.execute(
        uswarm.database,
      );
      const device = owner.user.with({ 'x-device-id': 'the phone' });
      await device.post('/v1/push-token', { push_token: PUSH_TOKEN }, 200);
      for (let n = 0; n < 12; n += 1) {
        await owner.user.post(owner.home.messages, { content: { type: 'text', text: `message ${n}` } }, 201);
      }
      await uswarm.database
        .insertInto('conversation_summaries')
        .values({ conversation_id: owner.home.conversationId, through_seq: 1, text: 'They talked about tea.' })
        .execute();
      // As if an agent had saved them.
      await sql`UPDATE agent_memories SET created_by = 'agent', message_id = (
        SELECT id FROM messages WHERE conversation_id = ${owner.home.conversationId} LIMIT 1
      ) WHERE agent_id = ANY(${owner.home.agents.map(({ id }) => id)}::uuid[])`.execute(uswarm.database);
      const [agent] = owner.home.agents;
      await owner.user.patch(`/v1/agents/${agent?.id}/tools/memories`, { permission: 'ask' }, 200);
      state = await ready(owner.user, (await start(owner.user)).id);
      answer = await download(uswarm.url, state.url ?? '');
      archive = Object.fromEntries(
        Object.entries(unzipSync(new Uint8Array(answer.bytes))).map(([path, data]) => [path, strFromU8(data)]),
      );
    });
    const json = (path: string): unknown => JSON.parse(archive[path] ?? 'null');
    const list = (path: string) => json(path) as Record<string, unknown>[];

    it('is a ZIP file of the reported size', () => {
      const { status, headers, bytes } = answer;
      expect({ status, type: headers['content-type'], size: bytes.length }).toEqual({
        status: 200,
        type: 'application/zip',
        size: state.size,
      });
    });

    it('has a manifest with format, version and exactly its files', () => {
      const { files, ...manifest } = json('manifest.json') as { files: string[] };
      expect(manifest).toMatchObject({ format: 'uswarm-export', version: 1, user_id: expect.any(String) });
      expect(['manifest.json', ...files].toSorted()).toEqual(Object.keys(archive).toSorted());
      expect(archive['README.txt']).toContain('manifest.json');
    });

    it('contains the profile, devices, legal acceptances and connected apps as the API returns them', async () => {
      const profile = (await owner.user.get<{ data: UserProfile }>('/v1/users/profile')).body.data;
      expect(json('profile.json')).toMatchObject(profile);
      expect(list('devices.json').map(({ device_id }) => device_id)).toEqual(['the phone']);
      expect(list('legal.json')).toEqual(expect.any(Array));
      expect(list('usage.json')).toEqual(expect.any(Array));
      expect(list('integrations.json').map(({ provider }) => provider)).toEqual(['gmail']);
      const tokens = await owner.user.get<{ data: ApiToken[] }>('/v1/api-tokens');
      expect(list('api-tokens.json').map(({ id }) => id)).toEqual(tokens.body.data.map(({ id }) => id));
      expect(list('tool-servers.json').map(({ url }) => url)).toEqual(['https://mcp.example.com/mcp']);
      expect(list('webhooks.json').map(({ url }) => url)).toEqual(['https://hooks.example.com/']);
    });

    it('contains the workspaces with their agents, settings and memories as the API returns them', async () => {
      const { data: workspaces } = (await owner.user.get<{ data: Workspace[] }>('/v1/workspaces')).body;
      expect(list('workspaces.json').map(({ id, name }) => [id, name])).toEqual(
        workspaces.map(({ id, name }) => [id, name]),
      );
      for (const { id, name, slug } of owner.home.agents) {
        const agent = json(`workspaces/${owner.home.workspaceId}/agents/${id}.json`) as { memories: AgentMemory[] };
        const memories = (await owner.user.get<{ data: AgentMemory[] }>(`/v1/agents/${id}/memories`)).body.data;
        expect(agent).toMatchObject({ id, name, slug, response_length: expect.any(String), prompts: [] });
        const shown = ({ key, content, created_by, source }: AgentMemory) => [key, content, created_by, source];
        expect(agent.memories.map(shown).toSorted()).toEqual(memories.map(shown).toSorted());
        for (const { source } of memories) expect(source).toMatchObject({ conversation_id: owner.home.conversationId });
      }
    });

    it('contains what the user changed about the tools of an agent, and nothing about the others', () => {
      const toolsOf = ({ id }: { id: string }) =>
        (json(`workspaces/${owner.home.workspaceId}/agents/${id}.json`) as { tools: unknown[] }).tools;
      const [changed, ...others] = owner.home.agents.map(toolsOf);
      expect(changed).toMatchObject([{ name: 'memories', enabled: true, permission: 'ask' }]);
      expect(others).toEqual(others.map(() => []));
    });

    it('contains the receipts and their keys as the API returns them', async () => {
      const receipts = (await owner.user.get<ReceiptPage>('/v1/receipts')).body.data;
      expect(receipts).toHaveLength(1);
      expect(json('receipts.json')).toEqual({ data: receipts });
      expect(json('receipt-keys.json')).toEqual((await owner.user.get<ReceiptKeySet>('/v1/receipt-keys')).body);
    });

    it('contains every conversation with all messages, oldest first, as the API returns them', async () => {
      const folder = `workspaces/${owner.home.workspaceId}`;
      const path = `${owner.home.workspace}/conversations`;
      const { data: conversations } = (await owner.user.get<{ data: Conversation[] }>(path)).body;
      expect(list(`${folder}/conversations.json`).map(({ id }) => id)).toEqual(conversations.map(({ id }) => id));
      const summaries = list(`${folder}/conversations.json`).map(({ summary }) => summary);
      expect(summaries).toContain('They talked about tea.');
      const { data: newestFirst } = (await owner.user.get<MessagePage>(`${owner.home.messages}?limit=100`)).body;
      expect(newestFirst.length).toBeGreaterThan(12);
      const lines = (archive[`${folder}/conversations/${owner.home.conversationId}.ndjson`] ?? '').trim().split('\n');
      const exported = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
      expect(exported.map(({ id, role, content }) => ({ id, role, content }))).toEqual(
        newestFirst.toReversed().map(({ id, role, content }) => ({ id, role, content })),
      );
    });

    it('contains what agents did in each turn, as the API returns it', async () => {
      const { workspaceId, conversationId } = owner.home;
      const lines = (archive[`workspaces/${workspaceId}/turns/${conversationId}.ndjson`] ?? '').trim().split('\n');
      const turns = lines.map((line) => JSON.parse(line) as TurnStepPage['data']);
      expect(turns.length).toBeGreaterThan(12);
      const path = (id: string) => `/v1/conversations/${conversationId}/turns/${id}/steps`;
      const [turn] = turns;
      expect(turn).toEqual((await owner.user.get<TurnStepPage>(path(turn?.turn_id ?? ''))).body.data);
    });

    it('contains every version of the artifacts', () => {
      const id = owner.values[EXAMPLE.artifactId];
      const folder = `workspaces/${owner.home.workspaceId}`;
      const versions = list(`${folder}/artifacts.json`);
      expect(versions).toMatchObject([
        { id, version: 1, title: 'Groceries', path: `${folder}/artifacts/${id}/1.md` },
        { id, version: 2, title: 'Groceries', path: `${folder}/artifacts/${id}/2.md` },
      ]);
      expect(versions.map(({ path }) => archive[String(path)])).toEqual(['- tea\n', '- tea\n- bread\n']);
    });

    it('contains the schedules with their times', () => {
      expect(list(`workspaces/${owner.home.workspaceId}/schedules.json`)).toMatchObject([
        { id: owner.values[EXAMPLE.scheduleId], prompt: WEEKDAYS.prompt, rrule: WEEKDAYS.rrule, runs: [] },
      ]);
    });

    it('contains the triggers without their secrets', () => {
      const [trigger, ...others] = list(`workspaces/${owner.home.workspaceId}/triggers.json`);
      expect(others).toEqual([]);
      expect(trigger).toMatchObject({
        id: owner.values[EXAMPLE.triggerId],
        prompt: ISSUES.prompt,
        is_signed: false,
        runs: [],
        queued_bodies: [],
      });
      expect(Object.keys(trigger ?? {}).filter((name) => /secret|hash|url/.test(name))).toEqual([]);
    });

    it('contains the workflows with the results of their steps', () => {
      const [workflow, ...others] = list(`workspaces/${owner.home.workspaceId}/workflows.json`);
      expect(others).toEqual([]);
      expect(workflow).toMatchObject({
        id: owner.values[EXAMPLE.workflowId],
        name: 'Plan a trip',
        agent_slug: 'manager',
        status: 'running',
        created_at: expect.any(String),
        steps: [
          { step_id: 'trains', status: 'completed', result: 'There is a train at 9:07.', after: [] },
          { step_id: 'hotels', status: 'pending', result: null, after: ['trains'], task: 'Find hotels to Lyon.' },
        ],
      });
    });

    it('contains the uploaded files', () => {
      const id = owner.values[EXAMPLE.uploadId];
      const [upload] = list('uploads.json');
      expect(upload).toMatchObject({ id, name: 'groceries.txt', path: `files/${id}/groceries.txt` });
      expect(archive[String(upload?.['path'])]).toBe('tea, bread, marmalade\n');
    });

    it('contains no secrets and no data of other users', async () => {
      const all = Object.entries(archive).flat().join('\n');
      const { rows } = await sql<{ secret: string }>`
        SELECT encode(tokens, 'hex') AS secret FROM integrations UNION SELECT encode(tokens, 'base64') FROM integrations`.execute(
        uswarm.database,
      );
      const secrets = [PUSH_TOKEN, owner.user.token, ...rows.map(({ secret }) => secret)];
      const foreign = [other.user.email, other.user.name, other.home.workspaceId, other.home.conversationId];
      const ids = [EXAMPLE.uploadId, EXAMPLE.messageId, EXAMPLE.agentId].map((id) => other.values[id] ?? '');
      expect([...secrets, ...foreign, ...ids].filter((text) => text !== '' && all.includes(text))).toEqual([]);
    });

    it('is rejected within an hour of the previous one, with a retry time', async () => {
      const { status, body, headers } = await owner.user.raw<{ code: string }>({ method: 'POST', path: EXPORT });
      expect({ status, code: body.code }).toEqual({ status: 429, code: 'export_limit_reached' });
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    });
  });

  it('contains all workflows, however many pages they are read in', async () => {
    const user = await uswarm.user();
    const home = await uswarm.home(user);
    const ids = [];
    for (let n = 0; n < 11; n += 1) ids.push(await storeWorkflow(uswarm, home));
    const { url } = await ready(user, (await start(user)).id);
    const files = unzipSync(new Uint8Array((await download(uswarm.url, url ?? '')).bytes));
    const file = files[`workspaces/${home.workspaceId}/workflows.json`];
    const workflows = JSON.parse(strFromU8(file ?? new Uint8Array())) as { id: string }[];
    expect(workflows.map(({ id }) => id)).toEqual(ids);
  });

  it('is returned for further requests while it is unfinished', async () => {
    const user = await uswarm.user();
    const started = await Promise.all(Array.from({ length: 5 }, () => start(user)));
    expect(new Set(started.map(({ id }) => id)).size).toBe(1);
    const listed = (await user.get<{ data: Export[] }>('/v1/users/exports')).body.data;
    expect(listed.map(({ id }) => id)).toEqual([started[0]?.id]);
  });

  it('is deleted with its archive when it expires', async () => {
    const user = await uswarm.user();
    const { id, url } = await ready(user, (await start(user)).id);
    const object = await objectOf(id);
    expect(await filesIn(uswarm.objectDirectory)).toContain(object);
    await sql`UPDATE exports SET expires_at = now() WHERE id = ${id}`.execute(uswarm.database);
    expect(await user.refusal('GET', `/v1/users/exports/${id}`)).toBe('export_not_found');
    expect(await linkRefusal(uswarm.url, url ?? '')).toBe('export_not_found');
    await makeDue();
    expect(await eventually(() => rowsOf(id), { until: (rows) => rows.length === 0 })).toEqual([]);
    expect(await filesIn(uswarm.objectDirectory)).not.toContain(object);
  });

  it('is deleted with its archive and the account', async () => {
    const user = await uswarm.user();
    const { id, url } = await ready(user, (await start(user)).id);
    const object = await objectOf(id);
    await user.delete('/v1/auth/delete', {}, 204);
    expect(await linkRefusal(uswarm.url, url ?? '')).toBe('export_not_found');
    expect(await eventually(() => rowsOf(id), { until: (rows) => rows.length === 0 })).toEqual([]);
    expect(await filesIn(uswarm.objectDirectory)).not.toContain(object);
  });
});

describe('unfinished exports', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
  });
  afterAll(() => uswarm.close());

  it('do not prevent that several accounts are deleted', async () => {
    const users = await Promise.all([uswarm.user(), uswarm.user()]);
    const ids = await Promise.all(users.map((user) => uswarm.idOf(user)));
    // Without jobs, as if no worker had begun them.
    await sql`
      INSERT INTO exports (id, user_id, workspace_id)
      SELECT gen_random_uuid(), u, w FROM unnest(${ids}::uuid[]) u, (VALUES (NULL::uuid), (gen_random_uuid())) AS of (w)`.execute(
      uswarm.database,
    );
    for (const user of users) await user.delete('/v1/auth/delete', {}, 204);
    const { rows } = await sql`SELECT FROM exports WHERE user_id IS NOT NULL`.execute(uswarm.database);
    expect(rows).toEqual([]);
  });
});

describe('an export whose process is killed', () => {
  const world = useKillableOrchestrators({ UPKEEP_WORKERS: '1' });

  /** Kills the process that builds an archive, after its job has failed this often. */
  async function killDuringExport(
    failures: number,
    begin: (user: Client) => Promise<Export> = start,
  ): Promise<{ id: string; token: string }> {
    const { database, objects } = world;
    const [killed, url] = await world.run();
    const { token, user } = await world.signUp(url);
    // The lock stops the archive halfway, at the first agent's memories.
    await database.query('BEGIN');
    await database.query('LOCK TABLE agent_memories IN ACCESS EXCLUSIVE MODE');
    const { id } = await begin(user);
    const partial = await eventually(() => filesIn(objects), {
      until: (names) => names.some((name) => name.endsWith('.part')),
    });
    expect(partial).toHaveLength(1);
    await killed.kill();
    await database.query('ROLLBACK');
    await database.query(
      'UPDATE work SET failures = $1, lease_expires_at = now() WHERE subject_id = $2 AND lease_id IS NOT NULL',
      [failures, id],
    );
    return { id, token };
  }

  it('is finished by another replica, and exactly one archive is left', async () => {
    const { id, token } = await killDuringExport(0);
    const [, url] = await world.run();
    const state = await ready(createApiClient(url, { 'x-token': token }), id);
    const { bytes } = await download(url, state.url ?? '');
    expect(Object.keys(unzipSync(new Uint8Array(bytes)))).toContain('manifest.json');
    expect(bytes.length).toBe(state.size);
    const { rows } = await world.database.query<{ object_id: string }>('SELECT object_id FROM exports');
    expect(await filesIn(world.objects)).toEqual(rows.map(({ object_id }) => object_id));
    expect(rows).toHaveLength(1);
  });

  it('is finished by another replica as a whole file if it is one of a workspace', async () => {
    const { id, token } = await killDuringExport(0, async (user) => {
      const { body } = await user.get<{ data: Workspace[] }>('/v1/workspaces');
      const path = `/v1/workspaces/${body.data[0]?.id}/export`;
      return (await user.post<{ data: Export }>(path, undefined, 202)).body.data;
    });
    const [, url] = await world.run();
    const state = await ready(createApiClient(url, { 'x-token': token }), id);
    const file = join(world.objects, 'downloaded.uswarm');
    await writeFile(file, (await download(url, state.url ?? '')).bytes);
    const opened = await openSwarmFile(file);
    await opened.verifySignature(opened.keys);
    for (const { path } of opened.manifest.members) for await (const _ of await opened.open(path));
    opened.close();
    expect((await filesIn(world.objects)).filter((name) => !name.startsWith('downloaded'))).toHaveLength(1);
  });

  it('is failed after the fifth time, and no part of its archive is left', async () => {
    const { id, token } = await killDuringExport(4);
    const [, url] = await world.run();
    const user = createApiClient(url, { 'x-token': token });
    const isEnded = ({ status }: Export): boolean => status === 'ready' || status === 'failed';
    expect(await eventually(() => stateOf(user, id), { until: isEnded })).toMatchObject({
      status: 'failed',
      url: null,
    });
    expect(await filesIn(world.objects)).toEqual([]);
  });
});
