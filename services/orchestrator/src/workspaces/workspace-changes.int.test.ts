import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type AgentSummary,
  type Conversation,
  LIMITS,
  type ReplayedEvent,
  type UserEvent,
  type Workspace,
} from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { rowsContaining, allRows } from '../../test/database-rows.js';
import { first, startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../test/test-orchestrator.js';
import { createTestTurnWorker } from '../../test/turn-fixture.js';
import { upload } from '../../test/uploads.js';
import { LeaseLost } from '../turns/commit.js';

const PATH = '/v1/workspaces';

describe('changes of workspaces', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
  });
  afterAll(() => uswarm.close());

  const create = async (user: TestUser, name = 'Second') =>
    (await user.post<{ data: Workspace }>(PATH, { name }, 201)).body.data;
  const list = async (user: TestUser) => (await user.get<{ data: Workspace[] }>(PATH)).body.data;
  const desiredStateOf = (workspaceId: string) =>
    uswarm.database.selectFrom('runtimes').select('desired').where('workspace_id', '=', workspaceId).executeTakeFirst();

  describe('POST /v1/workspaces', () => {
    it('creates one with agents, a swarm conversation and a requested runtime', async () => {
      const user = await uswarm.user();
      const home = await uswarm.home(user);
      const made = await create(user, '  My second  ');
      expect(made).toMatchObject({
        name: 'My second',
        runtime: { status: 'provisioning', total_agents: home.agents.length },
      });
      const agents = (await user.get<{ data: AgentSummary[] }>(`${PATH}/${made.id}/agents`)).body.data;
      const conversations = (await user.get<{ data: Conversation[] }>(`${PATH}/${made.id}/conversations`)).body.data;
      expect(agents.map(({ slug }) => slug)).toEqual(home.agents.map(({ slug }) => slug));
      expect(conversations.map(({ type, title }) => [type, title])).toEqual([['swarm', 'My second']]);
      expect(await desiredStateOf(made.id)).toEqual({ desired: 'running' });
      expect((await list(user)).map(({ id }) => id)).toEqual([home.workspaceId, made.id]);
    });

    it('tells all sockets of the user about the created and the deleted workspace', async () => {
      const user = await uswarm.user();
      const userId = await uswarm.idOf(user);
      const events: UserEvent[] = [];
      const stop = await uswarm.bus.onUserEvent?.((event) => events.push(event));
      const workspace = await create(user);
      await user.delete(`${PATH}/${workspace.id}`, undefined, 204);
      const own = () => events.filter(({ user_id: id }) => id === userId);
      expect(await eventually(own, { until: (seen) => seen.length === 2 })).toEqual([
        { v: 1, user_id: userId, event: 'workspace.new', payload: { workspace } },
        { v: 1, user_id: userId, event: 'workspace.deleted', payload: { workspace_id: workspace.id } },
      ]);
      stop?.();
    });

    it(`creates at most ${LIMITS.workspacesPerUser} workspaces, also with concurrent requests`, async () => {
      const user = await uswarm.user();
      const answers = await Promise.all(
        Array.from({ length: 10 }, () =>
          user.raw<{ code?: string }>({
            method: 'POST',
            path: PATH,
            headers: { 'content-type': 'application/json' },
            body: '{"name":"x"}',
          }),
        ),
      );
      const outcomes = answers.map(({ status, body }) => body.code ?? status);
      expect(outcomes.filter((outcome) => outcome === 201)).toHaveLength(LIMITS.workspacesPerUser - 1);
      expect(outcomes.filter((outcome) => outcome === 'workspace_limit_reached')).toHaveLength(
        11 - LIMITS.workspacesPerUser,
      );
      expect(await list(user)).toHaveLength(LIMITS.workspacesPerUser);
    });

    it.each([{}, { name: '' }, { name: ' ' }, { name: 'x'.repeat(101) }, { name: 7 }, { name: 'a\u0000' }])(
      'rejects %j and creates nothing',
      async (body) => {
        const user = await uswarm.user();
        expect(await user.refusal('POST', PATH, body)).toBe('validation_failed');
        expect(await list(user)).toHaveLength(1);
      },
    );
  });

  describe('PATCH /v1/workspaces/{id}', () => {
    it('renames the workspace, and publishes events for it and for the conversation that shows its name', async () => {
      const user = await uswarm.user();
      const { workspace, workspaceId } = await uswarm.home(user);
      const { body } = await user.patch<{ data: Workspace }>(workspace, { name: ' Renamed ' }, 200);
      expect(body.data).toMatchObject({ id: workspaceId, name: 'Renamed' });
      expect(await list(user)).toEqual([body.data]);
      const events = (await user.get<{ data: ReplayedEvent[] }>(`${workspace}/events`)).body.data;
      expect(events).toMatchObject([
        { event: 'workspace.updated', payload: { workspace: { name: 'Renamed' } } },
        { event: 'conversation.updated', payload: { conversation: { title: 'Renamed' } } },
      ]);
    });

    it.each([{}, { name: null }, { name: 'My workspace' }, { later: true }])(
      'changes nothing if the body is %j',
      async (body) => {
        const user = await uswarm.user();
        const { workspace } = await uswarm.home(user);
        const before = await allRows(uswarm.database);
        const answer = await user.patch<{ data: Workspace }>(workspace, body, 200);
        expect(answer.body.data).toEqual(first(await list(user)));
        expect(await allRows(uswarm.database)).toEqual(before);
      },
    );

    it('rejects an empty name', async () => {
      const user = await uswarm.user();
      const { workspace } = await uswarm.home(user);
      expect(await user.refusal('PATCH', workspace, { name: '' })).toBe('validation_failed');
    });
  });

  describe('DELETE /v1/workspaces/{id}', () => {
    it('deletes its contents and requests the deletion of its runtime', async () => {
      const user = await uswarm.user();
      const { id } = await create(user);
      const path = `${PATH}/${id}`;
      const text = `secret ${crypto.randomUUID()}`;
      const conversation = first((await user.get<{ data: Conversation[] }>(`${path}/conversations`)).body.data);
      const { id: uploadId } = await upload(user, { content: 'x' });
      const body = { content: { type: 'text', text }, attachments: [{ id: uploadId }], local_id: text };
      await user.post(`${path}/conversations/${conversation.id}/messages`, body, 201);
      expect((await user.delete(path, undefined, 204)).body).toBeUndefined();
      expect(await user.refusal('GET', path)).toBe('workspace_not_found');
      expect(await user.refusal('DELETE', path)).toBe('workspace_not_found');
      expect(await list(user)).toHaveLength(1);
      expect(await desiredStateOf(id)).toEqual({ desired: 'deleted' });
      expect(await rowsContaining(uswarm.database, [text])).toEqual([]);
      const left = (await rowsContaining(uswarm.database, [id])).map((row) => row.slice(0, row.indexOf(':')));
      expect(left.toSorted()).toEqual(['runtimes', 'work']);
      const upkeep = await uswarm.database
        .selectFrom('work')
        .select('kind')
        .where('subject_id', '=', uploadId)
        .execute();
      expect(upkeep).toEqual([{ kind: 'upload' }]);
    });

    it('keeps the usage of the user', async () => {
      const user = await uswarm.user();
      const { id: userId } = await uswarm.database
        .selectFrom('users')
        .select('id')
        .where('email', '=', user.email)
        .executeTakeFirstOrThrow();
      const { id } = await create(user);
      const usage = {
        turn_id: crypto.randomUUID(),
        step: 1,
        user_id: userId,
        workspace_id: id,
        provider: 'p',
        model: 'm',
      };
      await uswarm.database
        .insertInto('usage_entries')
        .values({ ...usage, prompt_tokens: 3, completion_tokens: 4 })
        .execute();
      const used = async () =>
        (await user.get<{ data: { tokens_used: number } }>('/v1/users/usage/summary')).body.data.tokens_used;
      expect(await used()).toBe(7);
      await user.delete(`${PATH}/${id}`, undefined, 204);
      expect(await used()).toBe(7);
    });

    it('revokes the lease of a running turn', async () => {
      await uswarm.database.deleteFrom('work').where('kind', '=', 'turn').execute();
      const turnWorker = createTestTurnWorker(uswarm.database);
      const user = await uswarm.user();
      const home = await uswarm.home(user);
      await user.post(home.messages, { content: { type: 'text', text: 'why?' } }, 201);
      const writer = await turnWorker.writerOf(await turnWorker.claim());
      await writer.begin();
      await user.delete(home.workspace, undefined, 204);
      await expect(writer.activity('writing')).rejects.toThrow(LeaseLost);
    });

    it('deletes the last workspace, and another can be created afterwards', async () => {
      const user = await uswarm.user();
      const { workspace } = await uswarm.home(user);
      await user.delete(workspace, undefined, 204);
      expect(await list(user)).toEqual([]);
      expect(await list(user)).not.toContain(await create(user));
    });

    it('lowers the number of workspaces, so that another can be created', async () => {
      const user = await uswarm.user();
      for (let n = 1; n < LIMITS.workspacesPerUser; n += 1) await create(user);
      expect(await user.refusal('POST', PATH, { name: 'x' })).toBe('workspace_limit_reached');
      const { workspace } = await uswarm.home(user);
      await user.delete(workspace, undefined, 204);
      await create(user);
    });

    it('succeeds concurrently with messages to the workspace', async () => {
      const user = await uswarm.user();
      const home = await uswarm.home(user);
      const sends = Array.from({ length: 15 }, (_, n) =>
        user.raw<{ code?: string }>({
          method: 'POST',
          path: home.messages,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ content: { type: 'text', text: `message ${n}` } }),
        }),
      );
      const [removal, ...answers] = await Promise.all([user.delete(home.workspace, undefined, 204), ...sends]);
      expect(removal.status).toBe(204);
      const codes = answers.map(({ status, body }) => body.code ?? status);
      expect(codes.filter((code) => ![201, 'workspace_not_found', 'conversation_not_found'].includes(code))).toEqual(
        [],
      );
      const left = uswarm.database.selectFrom('messages').select('id').where('workspace_id', '=', home.workspaceId);
      expect(await left.execute()).toEqual([]);
    });
  });

  it('workspaces of another user are not found and do not change', async () => {
    const [owner, other] = [await uswarm.user(), await uswarm.user()];
    const { workspace } = await uswarm.home(owner);
    const before = await allRows(uswarm.database);
    for (const path of [workspace, `${PATH}/${crypto.randomUUID()}`, `${PATH}/x`]) {
      expect(await other.refusal('PATCH', path, { name: 'mine' })).toBe('workspace_not_found');
      expect(await other.refusal('DELETE', path)).toBe('workspace_not_found');
      expect(await other.refusal('GET', `${path}/events`)).toBe('workspace_not_found');
    }
    expect(await allRows(uswarm.database)).toEqual(before);
  });
});

describe('a workspace with a runtime', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ environment: { RUNTIME_WORKERS: '2' } });
  });
  afterAll(() => uswarm.close());

  it('is deleted together with the process of its runtime', async () => {
    const user = await uswarm.user();
    const { id } = (await user.post<{ data: Workspace }>(PATH, { name: 'Second' }, 201)).body.data;
    const process = () =>
      uswarm.database.selectFrom('runtime_processes').select('pid').where('workspace_id', '=', id).executeTakeFirst();
    const started = await eventually(process, { until: (row) => row !== undefined, timeoutMs: 60_000 });
    expect(started?.pid).toBeGreaterThan(0);
    await user.delete(`${PATH}/${id}`, undefined, 204);
    const left = () => rowsContaining(uswarm.database, [id]);
    expect(await eventually(left, { until: (rows) => rows.length === 0, timeoutMs: 60_000 })).toEqual([]);
  });
});
