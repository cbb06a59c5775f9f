import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Conversation, MessageContent, MessageData } from '@uswarm/contract';
import { allRows } from '../../test/database-rows.js';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../test/test-orchestrator.js';

const ISO = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

describe('conversations', () => {
  let uswarm: TestOrchestrator;
  let user: TestUser;
  let home: Home;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
  });
  afterAll(() => uswarm.close());

  const signUp = async () => {
    user = await uswarm.user();
    home = await uswarm.home(user);
  };
  const list = async () =>
    (await user.get<{ data: Conversation[] }>(`/v1/workspaces/${home.workspaceId}/conversations`)).body.data;
  const get = async (id = home.conversationId) =>
    (await user.get<{ data: Conversation }>(`/v1/workspaces/${home.workspaceId}/conversations/${id}`)).body.data;
  const create = async (body: object) =>
    (await user.post<{ data: Conversation }>(`/v1/workspaces/${home.workspaceId}/conversations`, body, 201)).body.data;
  const agentId = (index: number): string => home.agents[index]?.id ?? '';
  const send = async (text: string, conversationId = home.conversationId) => {
    const path = `${home.workspace}/conversations/${conversationId}/messages`;
    return (await user.post<{ data: MessageData }>(path, { content: { type: 'text', text } }, 201)).body.data;
  };

  describe('listing', () => {
    it('REST-027 GET /v1/workspaces/{workspaceId}/conversations lists conversations with last_message and unread_count', async () => {
      await signUp();
      const message = await send('hello');
      expect(await list()).toMatchObject([
        { id: home.conversationId, unread_count: 0, last_message: { id: message.id } },
      ]);
    });

    it('lists the most recently active conversation first', async () => {
      await signUp();
      const [second, third] = [await create({ type: 'swarm' }), await create({ type: 'swarm' })];
      const newestFirst = (await list()).map(({ id }) => id);
      await send('to the oldest');
      const activeFirst = (await list()).map(({ id }) => id);
      expect({ newestFirst, activeFirst }).toEqual({
        newestFirst: [third.id, second.id, home.conversationId],
        activeFirst: [home.conversationId, third.id, second.id],
      });
    });

    it('REST-029 GET /v1/workspaces/{workspaceId}/conversations/{id} returns one conversation as the list does', async () => {
      await signUp();
      await send('hello');
      expect([await get()]).toEqual(await list());
    });
  });

  describe('creating', () => {
    it('REST-028 POST /v1/workspaces/{workspaceId}/conversations takes a type and returns the conversation', async () => {
      await signUp();
      const made = await create({ type: 'swarm', agent_id: null });
      expect(await get(made.id)).toEqual(made);
    });

    it('REST-028 takes the agent of an agent conversation', async () => {
      await signUp();
      const made = await create({ type: 'agent', agent_id: agentId(3) });
      expect(made.agent?.id).toBe(agentId(3));
    });

    it('allows several conversations with the same agent', async () => {
      await signUp();
      const body = { type: 'agent', agent_id: agentId(1) };
      expect((await create(body)).id).not.toBe((await create(body)).id);
    });

    it.each([
      ['agent_id_not_allowed', 'a swarm with an agent', () => ({ type: 'swarm', agent_id: agentId(0) })],
      ['agent_id_required', 'an agent conversation without one', () => ({ type: 'agent' })],
      ['agent_id_required', 'an agent conversation with null', () => ({ type: 'agent', agent_id: null })],
      ['agent_not_found', 'an agent that does not exist', () => ({ type: 'agent', agent_id: crypto.randomUUID() })],
      ['agent_not_found', 'a malformed agent id', () => ({ type: 'agent', agent_id: 'manager' })],
      ['validation_failed', 'an unknown type', () => ({ type: 'group' })],
      ['validation_failed', 'no type', () => ({})],
      ['validation_failed', 'an agent id that is a number', () => ({ type: 'agent', agent_id: 7 })],
    ] as const)('returns %s for %s, and stores nothing', async (code, _what, body) => {
      await signUp();
      const before = await allRows(uswarm.database);
      expect(await user.refusal('POST', `${home.workspace}/conversations`, body())).toBe(code);
      expect(await allRows(uswarm.database)).toEqual(before);
    });

    it('does not find an agent of another user, and stores nothing', async () => {
      const otherHome = await uswarm.home(await uswarm.user());
      await signUp();
      const before = await allRows(uswarm.database);
      const body = { type: 'agent', agent_id: otherHome.agents[0]?.id };
      expect(await user.refusal('POST', `${home.workspace}/conversations`, body)).toBe('agent_not_found');
      expect(await allRows(uswarm.database)).toEqual(before);
    });
  });

  describe('the fields of a conversation', () => {
    it('RES-043 RES-044 include id and type', async () => {
      await signUp();
      expect(await get()).toMatchObject({ id: home.conversationId, type: 'swarm' });
      expect(await create({ type: 'agent', agent_id: agentId(0) })).toMatchObject({ type: 'agent' });
    });

    it('RES-045 include the title, by default the name of the workspace or the agent', async () => {
      await signUp();
      const made = await create({ type: 'agent', agent_id: agentId(1) });
      expect({ swarm: (await get()).title, agent: made.title }).toEqual({ swarm: 'My workspace', agent: 'Researcher' });
    });

    it('RES-045 include the title that was set', async () => {
      await signUp();
      await uswarm.database
        .updateTable('conversations')
        .set({ title: 'Plans' })
        .where('id', '=', home.conversationId)
        .execute();
      expect((await get()).title).toBe('Plans');
    });

    it('RES-046 include the timestamps created_at and updated_at, and a message changes updated_at', async () => {
      await signUp();
      const before = await get();
      await send('hello');
      const after = await get();
      expect({ created_at: before.created_at, updated_at: before.updated_at }).toEqual({
        created_at: expect.stringMatching(ISO),
        updated_at: expect.stringMatching(ISO),
      });
      expect(after.created_at).toBe(before.created_at);
      expect(Date.parse(after.updated_at)).toBeGreaterThan(Date.parse(before.updated_at));
    });

    it('RES-048 include agent, which is null for the swarm and a summary otherwise', async () => {
      await signUp();
      const made = await create({ type: 'agent', agent_id: agentId(4) });
      expect({ swarm: (await get()).agent, agent: made.agent }).toEqual({ swarm: null, agent: home.agents[4] });
    });

    it('RES-049 include last_message, which is null at first and then the newest message', async () => {
      await signUp();
      const before = (await get()).last_message;
      await send('one');
      const newest = await send('two');
      expect({ before, after: (await get()).last_message }).toEqual({ before: null, after: newest });
    });
  });

  describe('RES-047 unread_count', () => {
    const receive = async (content: MessageContent, role: 'agent' | 'user' = 'agent') => {
      const { last_seq: seq } = await uswarm.database
        .updateTable('workspaces')
        .set((row) => ({ last_seq: row('last_seq', '+', 1) }))
        .where('id', '=', home.workspaceId)
        .returning('last_seq')
        .executeTakeFirstOrThrow();
      const context = { workspace_id: home.workspaceId, conversation_id: home.conversationId, agent_id: agentId(0) };
      const row = {
        id: crypto.randomUUID(),
        ...context,
        seq,
        role,
        content: JSON.stringify(content),
        status: 'delivered' as const,
      };
      await uswarm.database.insertInto('messages').values(row).execute();
      return seq;
    };

    it.each<[number, MessageContent]>([
      [1, { type: 'text', text: 'hi' }],
      [1, { type: 'action_card', title: '', description: '', actions: [] }],
      [
        1,
        {
          type: 'artifact',
          artifact_id: 'a',
          title: '',
          version: 1,
          status: 'draft',
          agent_slug: 'coder',
          content_preview: '',
        },
      ],
      [1, { type: 'workflow', workflow_id: 'w', workflow_name: '', execution_id: 'e', status: 'running', steps: [] }],
      [0, { type: 'loading' }],
      [0, { type: 'tool_status', tool: 't', description: '', state: 'running' }],
      [0, { type: 'system', text: 'note' }],
      [0, { type: 'delegation', status: 'running', task_preview: '' }],
    ])('counts %d for an agent message with %j', async (count, content) => {
      await signUp();
      await receive(content);
      expect((await get()).unread_count).toBe(count);
    });

    it('does not count messages of the user', async () => {
      await signUp();
      await send('mine');
      expect((await get()).unread_count).toBe(0);
    });

    it('counts messages after the read position', async () => {
      await signUp();
      await receive({ type: 'text', text: 'read' });
      const read = await receive({ type: 'text', text: 'read too' });
      await receive({ type: 'text', text: 'unread' });
      await uswarm.database
        .updateTable('conversations')
        .set({ read_seq: read })
        .where('id', '=', home.conversationId)
        .execute();
      expect((await get()).unread_count).toBe(1);
    });
  });

  describe('conversations of other users', () => {
    it('return the same error as unknown conversations', async () => {
      await signUp();
      const other = await uswarm.user();
      const own = await uswarm.home(other);
      const paths = [
        `${home.workspace}/conversations`,
        home.conversation,
        `${own.workspace}/conversations/${home.conversationId}`,
        `${own.workspace}/conversations/${crypto.randomUUID()}`,
        `${own.workspace}/conversations/nothing`,
      ];
      const codes = [];
      for (const path of paths) codes.push(await other.refusal('GET', path));
      expect(codes).toEqual([
        'workspace_not_found',
        'workspace_not_found',
        'conversation_not_found',
        'conversation_not_found',
        'conversation_not_found',
      ]);
    });

    it('cannot be created in a foreign workspace, and nothing is stored', async () => {
      await signUp();
      const other = await uswarm.user();
      const before = await allRows(uswarm.database);
      expect(await other.refusal('POST', `${home.workspace}/conversations`, { type: 'swarm' })).toBe(
        'workspace_not_found',
      );
      expect(await allRows(uswarm.database)).toEqual(before);
    });

    it('are not found in this workspace, like those of other workspaces', async () => {
      await signUp();
      const { id: owner } = await uswarm.database
        .selectFrom('users')
        .select('id')
        .where('email', '=', user.email)
        .executeTakeFirstOrThrow();
      const second = crypto.randomUUID();
      await uswarm.database.insertInto('workspaces').values({ id: second, owner_id: owner, name: 'Second' }).execute();
      const path = `/v1/workspaces/${second}/conversations/${home.conversationId}`;
      expect(await user.refusal('GET', path)).toBe('conversation_not_found');
      expect(await user.refusal('GET', `${path}/messages`)).toBe('conversation_not_found');
      const before = await allRows(uswarm.database);
      expect(await user.refusal('POST', `${path}/messages`, { content: { type: 'text', text: 'x' } })).toBe(
        'conversation_not_found',
      );
      expect(await allRows(uswarm.database)).toEqual(before);
    });
  });
});
