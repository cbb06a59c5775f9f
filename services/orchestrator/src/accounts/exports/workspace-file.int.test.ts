import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type {
  AgentMemory,
  Conversation,
  Export,
  MessagePage,
  ReceiptKeySet,
  ReceiptPage,
  Workspace,
} from '@uswarm/contract';
import { EXAMPLE } from '@uswarm/contract/documents';
import type { OAuthServer } from '@uswarm/dev-servers';
import {
  artifactPath,
  filePath,
  jsonLines,
  openSwarmFile,
  type SwarmFile,
  type Table,
  tablePath,
  WORKSPACE_PATH,
} from '@uswarm/swarm-file';
import { eventually } from '@uswarm/testkit/eventually';
import { sql } from 'kysely';
import { integrationEnvironment, startProviderServer } from '../../../test/integrations.js';
import { storeReceipt } from '../../../test/receipts.js';
import { createUserResources, type UserResources } from '../../../test/resource-fixtures.js';
import { WEEKDAYS } from '../../../test/schedules.js';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';
import { download, type Downloaded, linkRefusal, upload } from '../../../test/uploads.js';
import { WORKSPACE_EXPORT_JOB } from './export-building.js';

type Row = Record<string, unknown>;

const pathOf = (home: Pick<Home, 'workspace'>): string => `${home.workspace}/export`;
const start = async (user: TestUser, home: Home): Promise<Export> =>
  (await user.post<{ data: Export }>(pathOf(home), undefined, 202)).body.data;
const listed = async (user: TestUser, home: Home): Promise<Export[]> =>
  (await user.get<{ data: Export[] }>(`${home.workspace}/exports`)).body.data;
async function ended(user: TestUser, id: string): Promise<Export> {
  const isEnded = ({ status }: Export): boolean => status === 'ready' || status === 'failed';
  const read = async () => (await user.get<{ data: Export }>(`/v1/users/exports/${id}`)).body.data;
  return eventually(read, { until: isEnded });
}

describe('the export of a workspace', () => {
  let server: OAuthServer;
  let uswarm: TestOrchestrator;
  let folder: string;
  beforeAll(async () => {
    server = await startProviderServer();
    uswarm = await startTestOrchestrator({
      environment: { ...integrationEnvironment(server), UPKEEP_WORKERS: '2' },
    });
    folder = await mkdtemp(join(tmpdir(), 'uswarm-workspace-file-'));
  });
  afterAll(async () => {
    await uswarm.close();
    await server.close();
    await rm(folder, { recursive: true });
  });

  async function saved({ url }: Export, name: string): Promise<{ answer: Downloaded; file: string }> {
    const answer = await download(uswarm.url, url ?? '');
    const file = join(folder, name);
    await writeFile(file, answer.bytes);
    return { answer, file };
  }

  describe('with one row of each kind', () => {
    let owner: UserResources;
    let files: { attached: string; lost: string };
    let elsewhere: Home;
    let state: Export;
    let answer: Downloaded;
    let file: SwarmFile;
    beforeAll(async () => {
      owner = await createUserResources(uswarm, server);
      const { user, home } = owner;
      await user.post<{ data: Workspace }>('/v1/workspaces', { name: 'Garden' }, 201);
      const { data: workspaces } = (await user.get<{ data: Workspace[] }>('/v1/workspaces')).body;
      const other = workspaces.find(({ id }) => id !== home.workspaceId)?.id ?? '';
      const { data: conversations } = (
        await user.get<{ data: Conversation[] }>(`/v1/workspaces/${other}/conversations`)
      ).body;
      elsewhere = {
        ...home,
        workspaceId: other,
        workspace: `/v1/workspaces/${other}`,
        conversationId: conversations[0]?.id ?? '',
      };
      await storeReceipt(uswarm, elsewhere);
      await storeReceipt(uswarm, home, { status: 'sent' });
      const attached = await upload(user, { content: 'oats\n', name: '../list.txt' });
      const lost = await upload(user, { content: 'lost\n', name: 'lost.txt' });
      const message = {
        content: { type: 'text', text: 'This is my list' },
        attachments: [{ id: attached.id }, { id: lost.id }],
      };
      await user.post(home.messages, message, 201);
      files = { attached: attached.id, lost: lost.id };
      await rm(join(uswarm.objectDirectory, lost.id.slice(-2), lost.id));
      await sql`INSERT INTO conversation_summaries VALUES (${home.conversationId}, 1, 'They talked about tea.')`.execute(
        uswarm.database,
      );
      state = await ended(user, (await start(user, home)).id);
      const written = await saved(state, 'one.uswarm');
      answer = written.answer;
      file = await openSwarmFile(written.file);
    });
    afterAll(() => file?.close());

    const rows = async (table: Table): Promise<Row[]> => {
      const read: Row[] = [];
      for await (const row of jsonLines(await file.open(tablePath(table)), tablePath(table))) read.push(row as Row);
      return read;
    };

    it('is a .uswarm file of the reported size', () => {
      const { status, headers, bytes } = answer;
      expect({ status, type: headers['content-type'], size: bytes.length }).toEqual({
        status: 200,
        type: 'application/vnd.uswarm.workspace+zip',
        size: state.size,
      });
      expect(headers['content-disposition']).toMatch(/workspace-\d{4}-\d\d-\d\d\.uswarm/);
      expect(state).toMatchObject({ status: 'ready', workspace_id: owner.home.workspaceId });
    });

    it('is signed with the key with which the installation signs receipts', async () => {
      const { keys } = (await owner.user.get<ReceiptKeySet>('/v1/receipt-keys')).body;
      expect(await file.verifySignature(keys)).toBe(keys[0]?.kid);
      expect(file.keys).toEqual(keys.map(({ kid, x }) => ({ kid, x })));
    });

    it('contains the workspace', async () => {
      const { data } = (await owner.user.get<{ data: Workspace }>(owner.home.workspace)).body;
      const { id, name, created_at, updated_at } = data;
      expect(JSON.parse(await text(await file.open(WORKSPACE_PATH)))).toMatchObject({
        id,
        name,
        created_at,
        updated_at,
      });
      expect(file.manifest.workspace_id).toBe(id);
    });

    it('contains all conversations and messages, as the API returns them', async () => {
      const { data: conversations } = (
        await owner.user.get<{ data: Conversation[] }>(`${owner.home.workspace}/conversations`)
      ).body;
      const exported = await rows('conversations');
      expect(exported.map(({ id }) => id).toSorted()).toEqual(conversations.map(({ id }) => id).toSorted());
      expect(exported.map(({ summary }) => summary)).toContainEqual({ through_seq: 1, text: 'They talked about tea.' });
      const { data: newestFirst } = (await owner.user.get<MessagePage>(`${owner.home.messages}?limit=100`)).body;
      const messages = (await rows('messages')).filter(({ conversation_id: id }) => id === owner.home.conversationId);
      expect(messages.map(({ id, role, content, created_at }) => ({ id, role, content, created_at }))).toEqual(
        newestFirst.toReversed().map(({ id, role, content, created_at }) => ({ id, role, content, created_at })),
      );
    });

    it('contains agents with their settings, and the memories', async () => {
      const agents = await rows('agents');
      expect(agents.map(({ id, slug }) => ({ id, slug }))).toEqual(
        owner.home.agents.map(({ id, slug }) => ({ id, slug })),
      );
      const memories = await rows('memories');
      const agentId = owner.values[EXAMPLE.agentId];
      const { data } = (await owner.user.get<{ data: AgentMemory[] }>(`/v1/agents/${agentId}/memories`)).body;
      expect(memories).toMatchObject(
        data.map(({ key, content, category, scope, created_at }) => ({
          agent_id: agentId,
          key,
          content,
          category,
          scope,
          created_at,
        })),
      );
    });

    it('contains every version of the artifacts, with their contents', async () => {
      const id = owner.values[EXAMPLE.artifactId] ?? '';
      expect(await rows('artifacts')).toMatchObject([
        { id, version: 2, versions: [{ version: 1 }, { version: 2, title: 'Groceries' }] },
      ]);
      const contents = await Promise.all(
        [1, 2].map(async (version) => text(await file.open(artifactPath(id, version)))),
      );
      expect(contents).toEqual(['- tea\n', '- tea\n- bread\n']);
    });

    it('contains the schedules, and no triggers', async () => {
      expect(await rows('schedules')).toMatchObject([
        { id: owner.values[EXAMPLE.scheduleId], prompt: WEEKDAYS.prompt, rrule: WEEKDAYS.rrule },
      ]);
    });

    it('contains the signed receipts of this workspace', async () => {
      const { data } = (await owner.user.get<ReceiptPage>(`/v1/receipts?workspace_id=${owner.home.workspaceId}`)).body;
      expect(data.map(({ jws }) => jws === null)).toEqual([true, false]);
      expect(await rows('receipts')).toEqual(data.filter(({ jws }) => jws !== null));
    });

    it('contains the files of its messages, and a row for one whose bytes are lost', async () => {
      const { attached, lost } = files;
      expect((await rows('files')).map(({ id, size }) => ({ id, size }))).toEqual([
        { id: attached, size: 5 },
        { id: lost, size: 5 },
      ]);
      const paths = file.manifest.members.map(({ path }) => path);
      expect(paths.filter((path) => path.startsWith('files/'))).toEqual([filePath(attached)]);
      expect(await text(await file.open(filePath(attached)))).toBe('oats\n');
    });

    it('contains no secrets, and nothing of other workspaces', async () => {
      const all: string[] = [];
      for (const { path } of file.manifest.members) all.push(path, await text(await file.open(path)));
      const { rows: secrets } = await sql<{ secret: string }>`
        SELECT encode(tokens, 'base64') AS secret FROM integrations
        UNION SELECT encode(secret_hash, 'base64') FROM schedules WHERE secret_hash IS NOT NULL`.execute(
        uswarm.database,
      );
      const unwanted = [
        ...secrets.map(({ secret }) => secret),
        owner.user.token,
        owner.user.email,
        owner.values[EXAMPLE.triggerId] ?? '',
        owner.values[EXAMPLE.apiTokenId] ?? '',
        elsewhere.workspaceId,
        elsewhere.conversationId,
      ];
      const content = all.join('\n');
      expect(unwanted.filter((one) => one !== '' && content.includes(one))).toEqual([]);
    });

    it('is listed with the workspace, and not with the exports of the account', async () => {
      expect((await listed(owner.user, owner.home)).map(({ id }) => id)).toEqual([state.id]);
      expect(await listed(owner.user, elsewhere)).toEqual([]);
      const { data } = (await owner.user.get<{ data: Export[] }>('/v1/users/exports')).body;
      expect(data.map(({ workspace_id: id }) => id)).toEqual([null]);
    });

    it('is rejected within an hour of the previous one, but not for another workspace', async () => {
      expect(await owner.user.refusal('POST', pathOf(owner.home))).toBe('export_limit_reached');
      expect(await start(owner.user, elsewhere)).toMatchObject({ workspace_id: elsewhere.workspaceId });
    });

    it('is refused to other users, and to users who do not have the workspace any more', async () => {
      const stranger = await uswarm.user();
      expect(await stranger.refusal('POST', pathOf(owner.home))).toBe('workspace_not_found');
      expect(await stranger.refusal('GET', `${owner.home.workspace}/exports`)).toBe('workspace_not_found');
      expect(await stranger.refusal('GET', `/v1/users/exports/${state.id}`)).toBe('export_not_found');
    });
  });

  it('is returned for further requests while it is unfinished, beside one of the account', async () => {
    const user = await uswarm.user();
    const home = await uswarm.home(user);
    const started = await Promise.all(Array.from({ length: 5 }, () => start(user, home)));
    expect(new Set(started.map(({ id }) => id)).size).toBe(1);
    const account = await user.post<{ data: Export }>('/v1/users/export', undefined, 202);
    expect(account.body.data.id).not.toBe(started[0]?.id);
    expect(await ended(user, account.body.data.id)).toMatchObject({ status: 'ready', workspace_id: null });
  });

  it('stays when its workspace is deleted, and is deleted with the account', async () => {
    const user = await uswarm.user();
    const home = await uswarm.home(user);
    const { id } = await ended(user, (await start(user, home)).id);
    await user.delete(home.workspace, undefined, 204);
    const { url } = await ended(user, id);
    expect((await download(uswarm.url, url ?? '')).status).toBe(200);
    await user.delete('/v1/auth/delete', {}, 204);
    expect(await linkRefusal(uswarm.url, url ?? '')).toBe('export_not_found');
    const left = () => uswarm.database.selectFrom('exports').select('id').where('id', '=', id).execute();
    expect(await eventually(left, { until: (found) => found.length === 0 })).toEqual([]);
  });

  it('fails if its workspace is deleted before it begins', async () => {
    const user = await uswarm.user();
    const home = await uswarm.home(user);
    // The job waits until the workspace is deleted.
    const id = await uswarm.database.transaction().execute(async (tx) => {
      await sql`LOCK TABLE workspaces IN ACCESS EXCLUSIVE MODE`.execute(tx);
      const { rows } = await sql<{ id: string }>`
        INSERT INTO exports (id, user_id, workspace_id) VALUES (gen_random_uuid(), ${await uswarm.idOf(user)}, gen_random_uuid())
        RETURNING id`.execute(tx);
      const created = rows[0]?.id ?? '';
      await sql`
        INSERT INTO work (kind, subject_id, workspace_id, serial_key)
        VALUES (${WORKSPACE_EXPORT_JOB}, ${created}, ${created}, ${created})`.execute(tx);
      return created;
    });
    expect(home.workspaceId).not.toBe(id);
    expect(await ended(user, id)).toMatchObject({ status: 'failed', url: null });
  });
});
