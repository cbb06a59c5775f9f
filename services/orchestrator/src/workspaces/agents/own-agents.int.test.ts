import { describe, expect, it } from '@jest/globals';
import {
  type AgentDetails,
  type AgentSummary,
  type AgentTool,
  type Conversation,
  LIMITS,
  type MessagePage,
  type ReplayedEvent,
  type Workspace,
} from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { useTurnFixture } from '../../../test/turn-fixture.js';
import type { ActionCard } from '../../chat/action-card.js';
import { findSettingsOfAgent } from '../../records/agent-settings.store.js';

const DONE = { turnStatus: 'done', messageStatus: 'delivered', text: 'Yes.', errorCode: null } as const;
const CARD: ActionCard = {
  type: 'action_card',
  title: 'Which one?',
  description: '',
  actions: [{ id: 'a', label: 'The first', style: 'primary' }],
};

describe('agents that a user adds', () => {
  const world = useTurnFixture({ UPKEEP_WORKERS: '2' });

  const path = () => `${world.home.workspace}/agents`;
  const add = async (body: object = { name: 'Tax adviser' }) =>
    (await world.user.post<{ data: AgentDetails }>(path(), body, 201)).body.data;
  const change = async (id: string, body: object) =>
    (await world.user.patch<{ data: AgentDetails }>(`/v1/agents/${id}`, body, 200)).body.data;
  const remove = (id: string) => world.user.delete(`/v1/agents/${id}`, undefined, 204);
  const list = async () => (await world.user.get<{ data: AgentSummary[] }>(path())).body.data;
  const workspace = async () => (await world.user.get<{ data: Workspace }>(world.home.workspace)).body.data;
  const events = async () =>
    (await world.user.get<{ data: ReplayedEvent[] }>(`${world.home.workspace}/events`)).body.data;
  const messages = async (conversation = world.home.conversation) =>
    (await world.user.get<MessagePage>(`${conversation}/messages?direction=forward`)).body.data;
  const say = (text: string, conversation = world.home.conversation) =>
    world.user.post(`${conversation}/messages`, { content: { type: 'text', text } }, 201);
  const refused = (text: string, conversation = world.home.conversation) =>
    world.user.refusal('POST', `${conversation}/messages`, { content: { type: 'text', text } });
  const talkWith = async (agentId: string) => {
    const body = { type: 'agent', agent_id: agentId };
    const { data } = (await world.user.post<{ data: Conversation }>(`${world.home.workspace}/conversations`, body, 201))
      .body;
    return `${world.home.workspace}/conversations/${data.id}`;
  };
  const conversation = async (at: string) => (await world.user.get<{ data: Conversation }>(at)).body.data;
  const turns = async () =>
    (
      await world.uswarm.database
        .selectFrom('turns')
        .select(['status', 'stop_requested'])
        .where('workspace_id', '=', world.home.workspaceId)
        .orderBy('id')
        .execute()
    ).map(({ status, stop_requested }) => (stop_requested ? `${status}, to be stopped` : status));
  const jobsDone = () =>
    eventually(async () => {
      const left = world.uswarm.database.selectFrom('work').select('kind').where('kind', '=', 'agent-removal');
      return (await left.execute()).length === 0 ? true : undefined;
    });

  it('need only a name', async () => {
    const agent = await add({ name: '  Tax\u202E   adviser ' });
    expect(agent).toMatchObject({
      workspace_id: world.home.workspaceId,
      name: 'Tax adviser',
      role: 'Tax adviser',
      slug: 'tax-adviser',
      description: '',
      skills: [],
      avatar_url: expect.stringContaining('agent-default.svg'),
      sort_order: 5,
      updated_at: null,
    });
    expect((await list()).at(-1)).toMatchObject({ id: agent.id, slug: 'tax-adviser' });
  });

  it('have everything that the user chooses', async () => {
    const prompts = [{ id: '1', name: 'Law', description: '', content: 'Name the paragraph.' }];
    const { id, ...agent } = await add({
      name: 'Tax adviser',
      role: 'Lawyer',
      description: 'Knows tax law.',
      skills: ['analysis'],
      avatar_url: 'https://example.com/a.png',
      model: 'opus',
      response_length: 'short',
      prompts,
      tools: [
        { name: 'web_search_tool', permission: 'deny' },
        { name: 'memories', permission: 'ask' },
      ],
    });
    expect(agent).toMatchObject({
      role: 'Lawyer',
      description: 'Knows tax law.',
      skills: ['analysis'],
      avatar_url: 'https://example.com/a.png',
    });
    const settings = (await world.user.get<{ data: unknown }>(`/v1/agents/${id}/settings`)).body.data;
    expect(settings).toEqual({ model: 'opus', response_length: 'short', prompts });
    const tools = (await world.user.get<{ data: AgentTool[] }>(`/v1/agents/${id}/tools`)).body.data;
    const permission = (name: string) => tools.find((tool) => tool.name === name)?.permission;
    expect([permission('web_search_tool'), permission('memories')]).toEqual(['deny', 'ask']);
  });

  it('take null for a field that may be absent', async () => {
    const none = {
      role: null,
      description: null,
      skills: null,
      avatar_url: null,
      model: null,
      prompts: null,
      tools: null,
    };
    const agent = await add({ name: 'Tax adviser', ...none });
    expect(await change(agent.id, { name: null, role: null, description: null, skills: null })).toEqual(agent);
  });

  it.each([
    [{}, 'validation_failed'],
    [{ name: ' \u202E ' }, 'validation_failed'],
    [{ name: 'x'.repeat(LIMITS.agentName + 1) }, 'validation_failed'],
    [{ name: 'x', skills: ['cooking'] }, 'validation_failed'],
    [{ name: 'x', avatar_url: 'javascript:alert(1)' }, 'validation_failed'],
    [{ name: 'x', tools: [{ name: 'nothing', permission: 'allow' }] }, 'tool_not_found'],
    [{ name: 'x', tools: [{ name: 'web_search_tool', permission: 'ask' }] }, 'permission_not_supported'],
  ])('are refused for %j', async (body, code) => {
    expect(await world.user.refusal('POST', path(), body)).toBe(code);
    expect(await list()).toHaveLength(5);
  });

  it('are refused in a workspace of another user', async () => {
    const other = await world.uswarm.user();
    expect(await other.refusal('POST', path(), { name: 'x' })).toBe('workspace_not_found');
  });

  it('are at most the limit, also if they are added at the same time', async () => {
    const sent = Array.from({ length: LIMITS.subAgents }, async (_, index) => {
      const body = JSON.stringify({ name: `Agent ${index}` });
      const headers = { 'Content-Type': 'application/json' };
      return (await world.user.raw({ method: 'POST', path: path(), headers, body })).status;
    });
    const statuses = await Promise.all(sent);
    expect(statuses.filter((status) => status === 201)).toHaveLength(LIMITS.subAgents - 4);
    expect(await list()).toHaveLength(LIMITS.subAgents + 1);
    expect(await world.user.refusal('POST', path(), { name: 'One more' })).toBe('agent_limit_reached');
    await remove((await list()).at(-1)?.id ?? '');
    await add({ name: 'One more' });
  });

  it('are added once for the same Idempotency-Key', async () => {
    const client = world.user.with({ 'Idempotency-Key': 'k' });
    const send = async () => (await client.post<{ data: AgentDetails }>(path(), { name: 'x' }, 201)).body.data.id;
    expect(await send()).toBe(await send());
    expect(await list()).toHaveLength(6);
  });

  it('are mentioned by their slug, which a new name does not change', async () => {
    const { id } = await add();
    expect(await change(id, { name: 'Lawyer', role: '' })).toMatchObject({
      name: 'Lawyer',
      role: 'Lawyer',
      slug: 'tax-adviser',
      updated_at: expect.any(String),
    });
    await say('@tax-adviser may I?');
    expect((await messages())[0]?.mentions).toEqual([{ agent_id: id, agent_name: 'Lawyer', offset: 0, length: 12 }]);
    expect((await world.turnWorker.turnOf(await world.turnWorker.claim())).agent_id).toBe(id);
  });

  it('are known to the other agents in their next turn', async () => {
    const { id } = await add({ name: 'Tax adviser', description: 'Knows tax law.' });
    const manager = world.home.agents[0]?.id ?? '';
    const members = async () => (await findSettingsOfAgent(world.uswarm.database, manager))?.members ?? [];
    expect((await members()).at(-1)).toMatchObject({ slug: 'tax-adviser', description: 'Knows tax law.' });
    await remove(id);
    expect((await members()).map(({ slug }) => slug)).not.toContain('tax-adviser');
  });

  it('change agents_rev and the number of agents in workspace.updated', async () => {
    const before = await workspace();
    const { id } = await add();
    const afterAdding = await workspace();
    await change(id, { description: 'Knows tax law.' });
    const afterChange = await workspace();
    await remove(id);
    const after = await workspace();
    const all = [before, afterAdding, afterChange, after];
    expect(new Set(all.map(({ agents_rev }) => agents_rev)).size).toBe(4);
    expect(all.map(({ runtime }) => runtime.total_agents)).toEqual([5, 6, 6, 5]);
    const updated = (await events()).filter(({ event }) => event === 'workspace.updated');
    expect(updated.at(-1)?.payload).toMatchObject({ workspace: { agents_rev: after.agents_rev } });
  });

  it('announce a new name to their conversations', async () => {
    const { id } = await add();
    const at = await talkWith(id);
    await change(id, { name: 'Lawyer' });
    expect(await conversation(at)).toMatchObject({ title: 'Lawyer', agent: { name: 'Lawyer' } });
    expect((await events()).at(-1)).toMatchObject({
      event: 'conversation.updated',
      payload: { conversation: { agent: { name: 'Lawyer' } } },
    });
  });

  describe('and deletes', () => {
    it('are not found any more, and a second deletion neither', async () => {
      const { id } = await add();
      await remove(id);
      expect(await world.user.refusal('DELETE', `/v1/agents/${id}`)).toBe('agent_not_found');
      for (const rest of ['', '/details', '/settings', '/tools', '/memories', '/history']) {
        expect(await world.user.refusal('GET', `/v1/agents/${id}${rest}`)).toBe('agent_not_found');
      }
      const body = { type: 'agent', agent_id: id };
      expect(await world.user.refusal('POST', `${world.home.workspace}/conversations`, body)).toBe('agent_not_found');
      const memory = { key: 'k', content: 'c' };
      expect(await world.user.refusal('POST', `/v1/agents/${id}/memories`, memory)).toBe('agent_not_found');
      expect(await world.user.refusal('PATCH', `/v1/agents/${id}`, { name: 'x' })).toBe('agent_not_found');
      expect(await list()).toHaveLength(5);
    });

    it('may not be the manager, which can be renamed', async () => {
      const manager = world.home.agents[0]?.id ?? '';
      expect(await world.user.refusal('DELETE', `/v1/agents/${manager}`)).toBe('agent_is_manager');
      expect(await change(manager, { name: 'Ada' })).toMatchObject({ name: 'Ada', slug: 'manager' });
    });

    it('leave their messages with name and picture, and their slug to no other agent', async () => {
      const { id } = await add({ name: 'Tax adviser', avatar_url: 'https://example.com/a.png' });
      await say('@tax-adviser may I?');
      const writer = await world.turnWorker.writerOf(await world.turnWorker.claim());
      await writer.begin();
      await writer.finish(DONE);
      await remove(id);
      expect((await messages())[1]).toMatchObject({
        agent: { id, name: 'Tax adviser', avatar: 'https://example.com/a.png' },
      });
      expect(await add()).toMatchObject({ slug: 'tax-adviser-2' });
      await say('@tax-adviser are you there?');
      expect((await messages()).at(-1)?.mentions).toEqual([]);
      const mentions = [{ agent_id: id, agent_name: '', offset: 0, length: 1 }];
      const draft = { content: { type: 'text', text: '@' }, mentions };
      expect(await world.user.refusal('POST', world.home.messages, draft)).toBe('mention_invalid');
    });

    it('have conversations that can be read, but not continued', async () => {
      const { id } = await add();
      const at = await talkWith(id);
      await say('may I?', at);
      const writer = await world.turnWorker.writerOf(await world.turnWorker.claim());
      await writer.begin();
      await writer.offer('k', CARD);
      await writer.finish(DONE);
      await remove(id);
      await jobsDone();
      expect(await conversation(at)).toMatchObject({ agent: { id, name: 'Tax adviser', deleted: true } });
      expect(await refused('and now?', at)).toBe('agent_deleted');
      const [asked, reply, card] = await messages(at);
      expect(reply).toMatchObject({ content: { text: 'Yes.' } });
      expect(card).toMatchObject({ extended_status: 'failed', error: { code: 'withdrawn' } });
      const again = (message: string | undefined, action: string, body?: object) =>
        world.user.refusal('POST', `${world.home.workspace}/messages/${message}/${action}`, body);
      expect(await again(reply?.id, 'regenerate')).toBe('agent_deleted');
      expect(await again(card?.id, 'action', { action_id: 'a' })).toBe('action_not_found');
      const edit = { content: { type: 'text', text: 'may we?' } };
      const message = `${world.home.workspace}/messages/${asked?.id}`;
      expect(await world.user.refusal('PATCH', message, edit)).toBe('agent_deleted');
    });

    it('stop: a queued turn ends, and a running one soon', async () => {
      const { id } = await add();
      const other = await talkWith(id);
      await say('@tax-adviser one');
      await (await world.turnWorker.writerOf(await world.turnWorker.claim())).begin();
      await say('two', other);
      await remove(id);
      await jobsDone();
      expect(await turns()).toEqual(['running, to be stopped', 'stopped']);
      expect((await messages(other))[1]).toMatchObject({ extended_status: 'failed' });
    });

    it('take only their own memories with them', async () => {
      const { id } = await add();
      const remember = (key: string, scope: string) =>
        world.user.post(`/v1/agents/${id}/memories`, { key, content: 'c', scope }, 200);
      await remember('own', 'agent');
      await remember('shared', 'workspace');
      await remove(id);
      await jobsDone();
      const rows = world.uswarm.database.selectFrom('agent_memories').select('key').where('agent_id', '=', id);
      expect(await rows.execute()).toEqual([{ key: 'shared' }]);
    });
  });
});
