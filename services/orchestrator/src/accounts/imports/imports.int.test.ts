import { randomUUID } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Conversation, MessagePage, ReceiptPage, Schedule, UserEvent, Workspace } from '@uswarm/contract';
import type { OAuthServer } from '@uswarm/dev-servers';
import { createReceiptSigner, generateCallKeys } from '@uswarm/service-kit';
import { filePath, KEYS_PATH, tablePath } from '@uswarm/swarm-file';
import { eventually } from '@uswarm/testkit/eventually';
import { sql } from 'kysely';
import { createApiClient } from '../../../test/api-client.js';
import { integrationEnvironment, startProviderServer } from '../../../test/integrations.js';
import { useKillableOrchestrators } from '../../../test/killable-orchestrators.js';
import { compoundFile } from '../../../test/office-files.js';
import { createUserResources, type UserResources } from '../../../test/resource-fixtures.js';
import {
  beginImport,
  comparable,
  exportWorkspace,
  forged,
  importEnd,
  importFile,
  importOf,
  IMPORTS,
  membersOf,
  type Row,
  rowsIn,
  withSwarmFile,
} from '../../../test/swarm-files.js';
import { startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';
import { formOf, upload } from '../../../test/uploads.js';
import { listOpenCards } from '../../chat/open-cards.store.js';
import { findSettingsOfAgent } from '../../records/agent-settings.store.js';
import { findAddressTexts } from '../../turns/tools/known-addresses.store.js';
import { findPrivateTexts } from '../../turns/tools/private-texts.store.js';

const BACKGROUND = { UPKEEP_WORKERS: '2' };

describe('the import of a workspace', () => {
  let server: OAuthServer;
  let first: TestOrchestrator;
  let second: TestOrchestrator;
  let owner: UserResources;
  let bytes: Buffer;
  let members: Map<string, Buffer>;
  const signer = createReceiptSigner(generateCallKeys().privateKey);
  beforeAll(async () => {
    server = await startProviderServer();
    const environment = { ...integrationEnvironment(server), ...BACKGROUND };
    const often = { ...environment, EXPORT_INTERVAL_S: '0' };
    [first, second] = [
      await startTestOrchestrator({ environment }),
      await startTestOrchestrator({ environment: often }),
    ];
    owner = await createUserResources(first, server);
    const { user, home } = owner;
    const attached = await upload(user, { content: 'oats\n'.repeat(1_000), name: 'list.txt' });
    await user.post(
      home.messages,
      { content: { type: 'text', text: 'My list' }, attachments: [{ id: attached.id }] },
      201,
    );
    const [agent] = home.agents;
    await user.patch(`/v1/agents/${agent?.id}/tools/memories`, { permission: 'ask' }, 200);
    await user.patch(`/v1/agents/${agent?.id}/settings`, { response_length: 'long' }, 200);
    await sql`INSERT INTO conversation_summaries VALUES (${home.conversationId}, 1, 'They talked about tea.')`.execute(
      first.database,
    );
    bytes = await exportWorkspace(first.url, user, home.workspaceId);
    members = await membersOf(bytes);
  });
  afterAll(async () => {
    await Promise.all([first, second].map((uswarm) => uswarm.close()));
    await server.close();
  });

  describe('in another installation', () => {
    let user: Awaited<ReturnType<TestOrchestrator['user']>>;
    let workspaceId: string;
    let events: UserEvent[];
    beforeAll(async () => {
      user = await second.user();
      events = [];
      const stop = await second.bus.onUserEvent?.((event) => events.push(event));
      const state = await importFile(user, bytes);
      workspaceId = state.workspace_id ?? '';
      await stop?.();
    });

    it('gives an export that differs from the first only in ids and in what the format names', async () => {
      const again = await membersOf(await exportWorkspace(second.url, user, workspaceId));
      expect(comparable(again)).toEqual(comparable(members));
      for (const table of [
        'conversations',
        'messages',
        'artifacts',
        'schedules',
        'memories',
        'agents',
        'receipts',
        'files',
      ]) {
        expect({ table, isEmpty: rowsIn(members, `${table}.jsonl`).length === 0 }).toEqual({ table, isEmpty: false });
      }
    });

    it('tells connected clients once', () => {
      const ids = events.flatMap((event) =>
        event.event === 'workspace.new' ? [(event.payload['workspace'] as Workspace).id] : [],
      );
      expect(ids).toEqual([workspaceId]);
    });

    it('shows conversations, messages and files as the first installation does', async () => {
      const path = `/v1/workspaces/${workspaceId}`;
      const { data } = (await user.get<{ data: Conversation[] }>(`${path}/conversations`)).body;
      const texts = async (client: typeof user, base: string, conversations: Conversation[]) => {
        const pages = conversations.map(async ({ id }) => {
          const page = (await client.get<MessagePage>(`${base}/conversations/${id}/messages`)).body.data;
          return page.map(({ role, content, attachments }) => ({
            role,
            type: content.type,
            files: attachments.map(({ name, size }) => ({ name, size })),
          }));
        });
        return (await Promise.all(pages)).map((page) => JSON.stringify(page)).toSorted();
      };
      const { data: original } = (
        await owner.user.get<{ data: Conversation[] }>(`${owner.home.workspace}/conversations`)
      ).body;
      // The file has no replies that have not begun.
      const begun = (pages: string[]) =>
        pages.map((page) =>
          page.replaceAll(/\{"role":"agent","type":"loading","files":\[\]\},?/g, '').replace(',]', ']'),
        );
      expect(await texts(user, path, data)).toEqual(begun(await texts(owner.user, owner.home.workspace, original)));
    });

    it('pauses schedules, so that two installations do not both run them', async () => {
      const { data } = (await user.get<{ data: Schedule[] }>(`/v1/workspaces/${workspaceId}/schedules`)).body;
      expect(data.map(({ status, next_run_at: next }) => ({ status, next }))).toEqual([
        { status: 'paused', next: null },
      ]);
    });

    it('marks what others may have written', async () => {
      const { rows } = await sql<{ conversations: number; unmarked: number }>`
        SELECT count(*)::int AS conversations, count(*) FILTER (WHERE NOT EXISTS (
          SELECT FROM untrusted_contents u WHERE u.conversation_id = c.id AND u.source = 'attachment'
        ))::int AS unmarked FROM conversations c WHERE workspace_id = ${workspaceId}`.execute(second.database);
      expect(rows).toEqual([{ conversations: expect.any(Number), unmarked: 0 }]);
      expect(rows[0]?.conversations).toBeGreaterThan(0);
    });

    it('marks agents until the user has saved their prompts, and not by other settings', async () => {
      const { data } = (await user.get<{ data: { id: string }[] }>(`/v1/workspaces/${workspaceId}/agents`)).body;
      const isMarked = async (id: string) => (await findSettingsOfAgent(second.database, id))?.untrusted;
      for (const { id } of data) {
        await user.patch(`/v1/agents/${id}/settings`, { response_length: 'short' }, 200);
        expect(await isMarked(id)).toBe(true);
        await user.patch(`/v1/agents/${id}/settings`, { prompts: [] }, 200);
      }
      expect(data.length).toBeGreaterThan(1);
      expect(await isMarked(data[0]?.id ?? '')).toBe(false);
    });

    it('does not take imported messages for the words of the user', async () => {
      const { rows } = await sql<{ id: string; workspaceId: string }>`
        SELECT DISTINCT conversation_id AS id, workspace_id AS "workspaceId" FROM messages
        WHERE workspace_id = ${workspaceId} AND role = 'user' AND content ->> 'text' = 'My list'`.execute(
        second.database,
      );
      const [conversation = { id: '', workspaceId }] = rows;
      const words = async () => ({
        addresses: await findAddressTexts(second.database, conversation.id, []),
        named: (await findPrivateTexts(second.database, { ...conversation, conversationId: conversation.id }, []))
          .named,
      });
      expect({ conversations: rows.length, ...(await words()) }).toEqual({
        conversations: 1,
        addresses: [],
        named: [],
      });
      const text = 'look at https://example.com';
      await user.post(
        `/v1/workspaces/${workspaceId}/conversations/${conversation.id}/messages`,
        { content: { type: 'text', text } },
        201,
      );
      expect(await words()).toEqual({ addresses: [text], named: [text] });
    });

    it('closes cards, because no call waits behind them', async () => {
      const path = `/v1/workspaces/${workspaceId}`;
      const { rows } = await sql<{ id: string; status: string }>`
        SELECT id, status FROM messages
        WHERE workspace_id = ${workspaceId} AND content ->> 'type' = 'action_card'`.execute(second.database);
      expect(rows.map(({ status }) => status)).toEqual(['failed']);
      const action = `${path}/messages/${rows[0]?.id}/action`;
      expect(await user.refusal('POST', action, { action_id: 'yes' })).toBe('action_not_found');
      expect(await listOpenCards(second.database, await second.idOf(user), { limit: 10 })).toEqual([]);
    });

    it('keeps receipts apart from those that this installation signs', async () => {
      expect((await user.get<ReceiptPage>('/v1/receipts')).body.data).toEqual([]);
    });

    it('continues with new messages after the imported ones', async () => {
      const { data } = (await user.get<{ data: Conversation[] }>(`/v1/workspaces/${workspaceId}/conversations`)).body;
      const path = `/v1/workspaces/${workspaceId}/conversations/${data[0]?.id}/messages`;
      await user.post(path, { content: { type: 'text', text: 'and now?' } }, 201);
      const page = (await user.get<MessagePage>(path)).body.data;
      expect(page.find(({ role }) => role === 'user')?.content).toEqual({ type: 'text', text: 'and now?' });
    });

    it('keeps documents for a day until their rows exist, because files can take hours', async () => {
      const { rows } = await sql<{ hours: number }>`
        SELECT min(extract(epoch FROM run_at - now()) / 3600)::int AS hours FROM work WHERE kind = 'artifact-object'`.execute(
        second.database,
      );
      expect(rows).toEqual([{ hours: 24 }]);
    });

    it('deletes its file at the end', async () => {
      const { rows } = await sql`SELECT FROM imports WHERE object_id IS NOT NULL AND status = 'done'`.execute(
        second.database,
      );
      expect(rows).toEqual([]);
    });

    it('can be imported again beside the first one', async () => {
      const state = await importFile(user, bytes);
      expect(state).toMatchObject({ status: 'done' });
      expect(state.workspace_id).not.toBe(workspaceId);
    });
  });

  describe('that is refused', () => {
    /** @returns why, after a check that nothing is left */
    async function problem(file: Buffer): Promise<string | null> {
      const user = await second.user();
      const state = await importFile(user, file);
      const { data } = (await user.get<{ data: Workspace[] }>('/v1/workspaces')).body;
      expect({ workspaces: data.length, state }).toMatchObject({
        workspaces: 1,
        state: { status: 'failed', workspace_id: null },
      });
      return state.problem;
    }
    const line = (path: string, change: Row): string => {
      const [row, ...others] = rowsIn(members, path);
      return [{ ...row, ...change }, ...others].map((one) => `${JSON.stringify(one)}\n`).join('');
    };

    it('is one that is not an archive', async () => {
      expect(await problem(Buffer.from('hello'))).toBe('not_a_swarm_file');
    });

    it('is one with a changed byte', async () => {
      const changed = Buffer.from(bytes);
      const at = changed.indexOf('oats\noats');
      changed[at] = 0x62;
      expect(await problem(changed)).toBe('content_changed');
    });

    it('is one with a receipt that was not signed so', async () => {
      const path = tablePath('receipts');
      const receipts = members.get(path)?.toString() ?? '';
      expect(await problem(await forged(members, { [path]: receipts }, signer))).toBe('signature_invalid');
    });

    it('is one with a receipt that says something else than what was signed', async () => {
      const [{ jws: _, ...receipt }] = rowsIn(members, tablePath('receipts')) as [Row];
      const forge = async (content: object) => {
        const receipts = `${JSON.stringify({ ...receipt, jws: await signer.sign(content) })}\n`;
        return problem(await forged(members, { [tablePath('receipts')]: receipts }, signer));
      };
      expect(await forge({ ...receipt, outcome: 'Sent nothing.' })).toBe('signature_invalid');
      expect(await forge([])).toBe('signature_invalid');
    });

    it('is one with a row that is nested more deeply than any row', async () => {
      const deep = `{"arguments":${'['.repeat(5_000)}${']'.repeat(5_000)}}\n`;
      expect(await problem(await forged(members, { [tablePath('receipts')]: deep }, signer))).toBe('rows_invalid');
    });

    it.each<[string, string, Row]>([
      ['with an unknown field', 'messages', { trace: 'x' }],
      ['with a content of no type', 'messages', { content: { type: 'script', text: 'x' } }],
      [
        'of an agent that is not in the file',
        'conversations',
        { type: 'agent', agent_id: '01931a5e-7c00-7000-8000-000000000001' },
      ],
      ['with the address of a script as picture', 'agents', { avatar_url: 'javascript:alert(1)' }],
      ['that runs each minute', 'schedules', { rrule: 'FREQ=MINUTELY' }],
      ['with a rule that is none', 'schedules', { rrule: 'EACH DAY' }],
      ['with an unknown time zone', 'schedules', { time_zone: 'Mars/Base' }],
      ['with an impossible time', 'schedules', { created_at: '2026-02-31T00:00:00.000Z' }],
      ['that breaks a rule of the tables', 'conversations', { type: 'agent', agent_id: null }],
    ])('is one with a row %s', async (_what, table, change) => {
      const path = `${table}.jsonl`;
      expect(await problem(await forged(members, { [path]: line(path, change) }, signer))).toBe('rows_invalid');
    });

    it('is one with two managers', async () => {
      const path = tablePath('agents');
      const rows = rowsIn(members, path).map((row) => `${JSON.stringify({ ...row, kind: 'manager' })}\n`);
      expect(await problem(await forged(members, { [path]: rows.join('') }, signer))).toBe('rows_invalid');
    });

    it('is one with more schedules than a user may have', async () => {
      const [schedule] = rowsIn(members, tablePath('schedules'));
      const many = Array.from({ length: 51 }, (_, n) => ({
        ...schedule,
        id: `01931a5e-7c00-7000-8000-0000000000${n + 10}`,
      }));
      const text = many.map((row) => `${JSON.stringify(row)}\n`).join('');
      expect(await problem(await forged(members, { [tablePath('schedules')]: text }, signer))).toBe('limit_reached');
    });
  });

  it('does not give agents the right to act without a question', async () => {
    const agents = rowsIn(members, tablePath('agents')).map((row) => ({
      ...row,
      tools: [{ name: 'gmail', enabled: true, permission: 'allow', updated_at: '2026-11-20T08:30:00.000Z' }],
    }));
    const text = agents.map((row) => `${JSON.stringify(row)}\n`).join('');
    const user = await second.user();
    const { workspace_id: workspaceId } = await importFile(
      user,
      await forged(members, { [tablePath('agents')]: text }, signer),
    );
    const { rows } = await sql<{ permission: string | null }>`
      SELECT DISTINCT t.permission FROM agent_tools t JOIN agents a ON a.id = t.agent_id WHERE a.workspace_id = ${workspaceId}`.execute(
      second.database,
    );
    expect(rows).toEqual([{ permission: null }]);
  });

  it('shows no reordered text in the names of agents and prompts', async () => {
    const agents = rowsIn(members, tablePath('agents')).map((row) => ({
      ...row,
      slug: `\u202E${String(row['slug'])}`,
      prompts: [{ id: 'p', name: '\u202Epolite', description: '', content: 'Be polite.' }],
    }));
    const text = agents.map((row) => `${JSON.stringify(row)}\n`).join('');
    const user = await second.user();
    const { workspace_id: workspaceId } = await importFile(
      user,
      await forged(members, { [tablePath('agents')]: text }, signer),
    );
    const { rows } = await sql<Row>`
      SELECT slug, prompts -> 0 ->> 'name' AS prompt FROM agents WHERE workspace_id = ${workspaceId}`.execute(
      second.database,
    );
    const slugs = rowsIn(members, tablePath('agents')).map(({ slug }) => ({ slug, prompt: 'polite' }));
    expect(new Set(rows)).toEqual(new Set(slugs));
  });

  it('has the type of a file from its bytes, and not from the file', async () => {
    const [row] = rowsIn(members, tablePath('files'));
    const files = `${JSON.stringify({ ...row, mime_type: 'text/html', type: 'image', name: '../../x.html' })}\n`;
    const user = await second.user();
    await importFile(user, await forged(members, { [tablePath('files')]: files }, signer));
    const { rows } = await sql<Row>`
      SELECT name, type, mime_type FROM uploads WHERE user_id = ${await second.idOf(user)}`.execute(second.database);
    expect(rows).toEqual([{ name: '....x.html', type: 'file', mime_type: 'text/plain' }]);
  });

  it('has the details of a file from all of its bytes', async () => {
    const [row] = rowsIn(members, tablePath('files'));
    const files = `${JSON.stringify({ ...row, mime_type: 'image/png', width: 5, height: 5, duration: 5 })}\n`;
    const changes = { [tablePath('files')]: files, [filePath(String(row?.['id']))]: compoundFile(['WordDocument']) };
    const user = await second.user();
    await importFile(user, await forged(members, changes, signer));
    const { rows } = await sql<Row>`
      SELECT type, mime_type, width, height, duration FROM uploads WHERE user_id = ${await second.idOf(user)}`.execute(
      second.database,
    );
    expect(rows).toEqual([
      { type: 'file', mime_type: 'application/msword', width: null, height: null, duration: null },
    ]);
  });

  it('is possible once per hour, but again after a file of another kind', async () => {
    const user = await first.user();
    expect(await importFile(user, Buffer.from('hello'))).toMatchObject({ problem: 'not_a_swarm_file' });
    expect(await importFile(user, bytes)).toMatchObject({ status: 'done' });
    const form = await formOf({ content: bytes });
    const refused = await user.raw<{ code: string; extra: Row }>({ method: 'POST', path: IMPORTS, ...form });
    expect({ status: refused.status, ...refused.body }).toMatchObject({ status: 429, code: 'rate_limited' });
    const waitMs = Number(refused.body.extra['retry_after_ms']);
    expect(waitMs).toBeGreaterThan(3_000_000);
    expect(waitMs).toBeLessThanOrEqual(3_600_000);
  });

  it('tells clients of its workspace although its process was killed before it could', async () => {
    const user = await second.user();
    const { id, workspace_id: workspaceId } = await importFile(user, bytes);
    const told: unknown[] = [];
    const stop = await second.bus.onUserEvent?.((event) => {
      if (event.event === 'workspace.new') told.push((event.payload['workspace'] as Workspace).id);
    });
    // The import as the killed process left it.
    const objectOf = async () =>
      (await second.database.selectFrom('imports').select('object_id').where('id', '=', id).executeTakeFirstOrThrow())
        .object_id;
    await eventually(objectOf, { until: (object) => object === null });
    await sql`UPDATE imports SET object_id = id WHERE id = ${id}`.execute(second.database);
    const due = () =>
      sql`UPDATE work SET run_at = now() WHERE subject_id = ${id} AND kind = 'workspace-import'`.execute(
        second.database,
      );
    await due();
    await eventually(objectOf, { until: (object) => object === null });
    await stop?.();
    expect(told).toEqual([workspaceId]);
  });

  it('is one at a time, and belongs to its user', async () => {
    const [user, stranger] = [await second.user(), await second.user()];
    // As if its file was being received.
    const unfinished = randomUUID();
    await sql`INSERT INTO imports (id, user_id) VALUES (${unfinished}, ${await second.idOf(user)})`.execute(
      second.database,
    );
    const form = await formOf({ content: bytes });
    const refused = await user.raw({ method: 'POST', path: IMPORTS, ...form });
    expect(refused).toMatchObject({
      status: 409,
      body: { code: 'import_in_progress', extra: { import_id: unfinished } },
    });
    const { id } = await importFile(stranger, Buffer.from('hello'));
    expect(await user.refusal('GET', `${IMPORTS}/${id}`)).toBe('import_not_found');
  });

  it('is refused to a user with as many workspaces as possible', async () => {
    const user = await second.user();
    for (let n = 1; n < 5; n += 1) await user.post('/v1/workspaces', { name: `W${n}` }, 201);
    const answer = await user.raw<{ code: string }>({
      method: 'POST',
      path: IMPORTS,
      ...(await formOf({ content: bytes })),
    });
    expect(answer.body.code).toBe('workspace_limit_reached');
  });

  it('can return to the installation that signed its receipts, whose key later files have once', async () => {
    const { workspace_id: workspaceId } = await importFile(owner.user, bytes);
    const again = await membersOf(await exportWorkspace(first.url, owner.user, workspaceId ?? ''));
    expect(again.get(tablePath('receipts'))).toEqual(members.get(tablePath('receipts')));
    expect(again.get(KEYS_PATH)).toEqual(members.get(KEYS_PATH));
  });

  it('is deleted with the account', async () => {
    const user = await second.user();
    const { id } = await importFile(user, Buffer.from('hello'));
    await user.delete('/v1/auth/delete', {}, 204);
    const left = () => second.database.selectFrom('imports').select('id').where('id', '=', id).execute();
    expect(await eventually(left, { until: (found) => found.length === 0 })).toEqual([]);
  });

  describe('whose process is killed', () => {
    const world = useKillableOrchestrators(BACKGROUND);

    const isWaiting = async (): Promise<boolean> => {
      const { rows } = await world.database.query("SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
      return rows.length > 0;
    };

    it('continues in another process without storing its files again, and is invisible until its end', async () => {
      const { database, objects } = world;
      const [killed, url] = await world.run();
      const { token, user } = await world.signUp(url);
      // The lock stops the import in the middle of its rows.
      await database.query('BEGIN');
      await database.query('LOCK TABLE agent_memories IN ACCESS EXCLUSIVE MODE');
      const { id } = await beginImport(user, bytes);
      await eventually(isWaiting, { until: (waits) => waits });
      const { data: seen } = (await user.get<{ data: Workspace[] }>('/v1/workspaces')).body;
      expect({ workspaces: seen.length, status: (await importOf(user, id)).status }).toEqual({
        workspaces: 1,
        status: 'running',
      });
      const { rows: stored } = await database.query<{ id: string }>("SELECT id FROM uploads WHERE state = 'stored'");
      expect(stored).toHaveLength(1);
      const object = join(objects, stored[0]?.id.slice(-2) ?? '', stored[0]?.id ?? '');
      const { mtimeMs } = await stat(object);
      // Nor does it block the user.
      await upload(user, { content: 'x', name: 'meanwhile.txt' });
      await killed.kill();
      await database.query('ROLLBACK');
      await database.query('UPDATE work SET lease_expires_at = now() WHERE subject_id = $1', [id]);

      const [, otherUrl] = await world.run();
      const other = createApiClient(otherUrl, { 'x-token': token });
      const state = await importEnd(other, id);
      expect(state).toMatchObject({ status: 'done' });
      expect((await stat(object)).mtimeMs).toBe(mtimeMs);
      expect((await database.query("SELECT FROM uploads WHERE name <> 'meanwhile.txt'")).rowCount).toBe(1);
      const again = await membersOf(await exportWorkspace(otherUrl, other, state.workspace_id ?? ''));
      expect(comparable(again)).toEqual(comparable(members));
      const names = (await readdir(objects, { recursive: true })).map((name) => name.split('/').at(-1));
      expect(names).not.toContain(id);
    });
  });

  it('can be verified with the keys of the installation that exported it', async () => {
    const { keys } = (await owner.user.get<{ keys: { kid: string; x: string }[] }>('/v1/receipt-keys')).body;
    await withSwarmFile(bytes, async (file) => {
      expect(await file.verifySignature(keys)).toBe(keys[0]?.kid);
      expect(file.sizeOf(filePath(String(rowsIn(members, tablePath('files'))[0]?.['id'])))).toBe(5_000);
    });
  });
});
