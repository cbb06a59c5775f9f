import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AgentDetails, AgentSummary } from '@uswarm/contract';
import type { ApiClient } from '../../../test/api-client.js';
import { first, startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';

describe('agents', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
  });
  afterAll(() => uswarm.close());

  const summary = async (user: ApiClient, path: string) => (await user.get<{ data: AgentSummary }>(path)).body.data;
  const details = async (user: ApiClient, path: string) =>
    (await user.get<{ data: AgentDetails }>(`${path}/details`)).body.data;

  it('REST-018 GET /v1/workspaces/{workspaceId}/agents lists the agents of the workspace', async () => {
    const user = await uswarm.user();
    const { workspaceId } = await uswarm.home(user);
    const { body } = await user.get<{ data: AgentSummary[] }>(`/v1/workspaces/${workspaceId}/agents`);
    expect(body.data.map(({ slug }) => slug)).toEqual(['manager', 'researcher', 'analyst', 'writer', 'coder']);
  });

  it('REST-018 lists the agents of another workspace separately', async () => {
    const [one, other] = [await uswarm.home(await uswarm.user()), await uswarm.home(await uswarm.user())];
    expect(one.agents.map(({ id }) => id)).not.toEqual(other.agents.map(({ id }) => id));
  });

  it('RES-037 a summary has the strings id, name, role, slug and avatar, and a status of the agent routes', async () => {
    const { agents } = await uswarm.home(await uswarm.user());
    expect(agents).toEqual(
      agents.map(() => ({
        id: expect.any(String),
        name: expect.any(String),
        role: expect.any(String),
        slug: expect.any(String),
        avatar: expect.any(String),
        status: 'pending',
      })),
    );
  });

  it.each([
    ['online', 'online'],
    ['reading', 'busy'],
    ['thinking', 'busy'],
    ['writing', 'busy'],
    ['pending', 'pending'],
    ['error', 'error'],
  ] as const)('RES-037 an agent with activity %s in a ready runtime has status %s', async (activity, status) => {
    const user = await uswarm.user();
    const { workspaceId } = await uswarm.home(user);
    const ready = { phase: 'Ready' } as const;
    await uswarm.database.updateTable('runtimes').set(ready).where('workspace_id', '=', workspaceId).execute();
    const activity_until = new Date(Date.now() + 3_600_000);
    await uswarm.database
      .updateTable('agents')
      .set({ activity, activity_until })
      .where('workspace_id', '=', workspaceId)
      .execute();
    const { agents } = await uswarm.home(user);
    expect(new Set(agents.map((agent) => agent.status))).toEqual(new Set([status]));
    const path = `/v1/agents/${first(agents).id}`;
    const shown = [await summary(user, path), await details(user, path)];
    expect(shown.map((agent) => agent.status)).toEqual([status, status]);
  });

  it.each([
    ['Pending', 'pending'],
    ['Progressing', 'pending'],
    ['Suspended', 'offline'],
    ['Deleting', 'offline'],
    ['Error', 'error'],
  ] as const)('RES-037 the agents of a runtime in phase %s are %s', async (phase, status) => {
    const user = await uswarm.user();
    const { workspaceId } = await uswarm.home(user);
    await uswarm.database.updateTable('runtimes').set({ phase }).where('workspace_id', '=', workspaceId).execute();
    const { agents } = await uswarm.home(user);
    expect(new Set(agents.map((agent) => agent.status))).toEqual(new Set([status]));
  });

  it('REST-019 GET /v1/agents/{id} returns the summary of that agent as the list does', async () => {
    const user = await uswarm.user();
    const { agents } = await uswarm.home(user);
    const each = await Promise.all(agents.map(({ id }) => summary(user, `/v1/agents/${id}`)));
    expect(each).toEqual(agents);
  });

  it('REST-020 GET /v1/agents/{id}/details returns the details of that agent', async () => {
    const user = await uswarm.user();
    const { agents, workspaceId } = await uswarm.home(user);
    const each = await Promise.all(agents.map(({ id }) => details(user, `/v1/agents/${id}`)));
    expect(each.map(({ id, name, role, slug, status }) => ({ id, name, role, slug, status }))).toEqual(
      agents.map(({ id, name, role, slug, status }) => ({ id, name, role, slug, status })),
    );
    expect(new Set(each.map(({ workspace_id }) => workspace_id))).toEqual(new Set([workspaceId]));
    expect(each.map(({ sort_order }) => sort_order)).toEqual([0, 1, 2, 3, 4]);
  });

  it('RES-038 details have description, avatar_url, sort_order, skills, stats and both times', async () => {
    const user = await uswarm.user();
    const { agents, workspaceId } = await uswarm.home(user);
    const id = agents.find(({ slug }) => slug === 'researcher')!.id;
    expect(await details(user, `/v1/agents/${id}`)).toEqual({
      id,
      workspace_id: workspaceId,
      name: 'Researcher',
      role: 'Researcher',
      slug: 'researcher',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      updated_at: null,
      description: expect.stringMatching(/\w/),
      avatar_url: expect.any(String),
      status: 'pending',
      sort_order: 1,
      skills: ['web_search', 'fact_check', 'news', 'sources'],
      stats: { total_messages: 0, memory_used_pct: 0 },
    });
  });

  it('RES-038 updated_at is the time of the last change of the agent', async () => {
    const user = await uswarm.user();
    const path = `/v1/agents/${first((await uswarm.home(user)).agents).id}`;
    await user.patch(`${path}/settings`, { model: 'opus' }, 200);
    const { created_at, updated_at } = await details(user, path);
    expect(Date.parse(updated_at ?? '')).toBeGreaterThan(Date.parse(created_at));
  });

  it('RES-038 total_messages counts the messages of the agent in all conversations, and no others', async () => {
    const user = await uswarm.user();
    const { agents, workspaceId, workspace, conversationId, messages } = await uswarm.home(user);
    const [manager, researcher] = agents as [AgentSummary, AgentSummary];
    await user.post(messages, { content: { type: 'text', text: 'hi' } }, 201);
    const alone = { type: 'agent', agent_id: manager.id };
    const { body } = await user.post<{ data: { id: string } }>(`${workspace}/conversations`, alone, 201);
    const write = (agentId: string, conversation: string, seq: number) =>
      uswarm.database
        .insertInto('messages')
        .values({
          id: crypto.randomUUID(),
          workspace_id: workspaceId,
          conversation_id: conversation,
          agent_id: agentId,
          seq,
          role: 'agent',
          content: JSON.stringify({ type: 'text', text: 'hello' }),
          status: 'delivered',
        })
        .execute();
    await write(manager.id, conversationId, 101);
    await write(manager.id, conversationId, 102);
    await write(manager.id, body.data.id, 103);
    await write(researcher.id, conversationId, 104);
    const counts = await Promise.all(agents.map(({ id }) => details(user, `/v1/agents/${id}`)));
    expect(counts.map(({ stats }) => stats.total_messages)).toEqual([3, 1, 0, 0, 0]);
  });

  it('agents of a foreign workspace return the same error as unknown agents', async () => {
    const [owner, other] = [await uswarm.user(), await uswarm.user()];
    const { workspace } = await uswarm.home(owner);
    expect(await other.refusal('GET', `${workspace}/agents`)).toBe('workspace_not_found');
    expect(await other.refusal('GET', `/v1/workspaces/${crypto.randomUUID()}/agents`)).toBe('workspace_not_found');
  });
});
