import { describe, expect, it } from '@jest/globals';
import {
  type AgentDetails,
  type AgentSettings,
  type AgentSummary,
  type AgentTool,
  LIMITS,
  type ReplayedEvent,
  type Workspace,
} from '@uswarm/contract';
import { AGENT_TOOLS } from '@uswarm/contract/agent-tools';
import { beginToolTurn } from '../../../test/tool-turn.js';
import { useTurnFixture } from '../../../test/turn-fixture.js';
import { LeaseLost } from '../../turns/commit.js';
import { createAgentChanges } from './agent-changes.js';
import { createOwnAgentTools } from './own-agent-tools.js';

describe('the tools for agents', () => {
  const world = useTurnFixture();

  const tools = () => {
    const { stores } = world.turnWorker;
    return createOwnAgentTools({
      database: stores.database,
      changes: createAgentChanges({ events: stores.events, jobs: stores.jobs }),
      tools: AGENT_TOOLS,
    });
  };
  const begin = () => beginToolTurn(world, tools());
  const path = () => `${world.home.workspace}/agents`;
  const get = async <Data>(at: string) => (await world.user.get<{ data: Data }>(at)).body.data;
  const list = () => get<AgentSummary[]>(path());
  const slugs = async () => (await list()).map(({ slug }) => slug);
  const idOf = async (slug: string) => (await list()).find((agent) => agent.slug === slug)?.id ?? '';
  const of = async <Data>(slug: string, rest: string) => get<Data>(`/v1/agents/${await idOf(slug)}/${rest}`);
  const permissions = async (slug: string) =>
    Object.fromEntries((await of<AgentTool[]>(slug, 'tools')).map(({ name, permission }) => [name, permission]));
  const permit = async (slug: string, tool: string, permission: string) =>
    world.user.patch(`/v1/agents/${await idOf(slug)}/tools/${tool}`, { permission }, 200);

  it('add an agent that needs only a name', async () => {
    const { call } = await begin();
    const { text } = await call('add_agent', { name: '  Tax\u202E   adviser ' });
    expect(text).toBe('Added Tax adviser as @tax-adviser. You can give it work now.');
    expect(await of<AgentDetails>('tax-adviser', 'details')).toMatchObject({
      name: 'Tax adviser',
      role: 'Tax adviser',
      description: '',
      skills: [],
    });
  });

  it('add an agent with everything that the user names', async () => {
    const { call } = await begin();
    await call('add_agent', {
      name: 'Tax adviser',
      role: 'Lawyer',
      description: 'Knows tax law.',
      skills: ['analysis', 'analysis'],
      avatar_url: 'https://example.com/a.png',
      model: 'opus',
      instructions: 'Name the paragraph.',
      tools: [
        { name: 'web_search_tool', permission: 'deny' },
        { name: 'memories', permission: 'ask' },
      ],
    });
    expect(await of<AgentDetails>('tax-adviser', 'details')).toMatchObject({
      role: 'Lawyer',
      description: 'Knows tax law.',
      skills: ['analysis'],
      avatar_url: 'https://example.com/a.png',
    });
    expect(await of<AgentSettings>('tax-adviser', 'settings')).toMatchObject({
      model: 'opus',
      prompts: [{ content: 'Name the paragraph.' }],
    });
    expect(await permissions('tax-adviser')).toMatchObject({
      web_search_tool: 'deny',
      memories: 'ask',
      artifacts: 'allow',
    });
  });

  it('change what is named, and keep the rest', async () => {
    const { call } = await begin();
    const writer = `/v1/agents/${await idOf('writer')}`;
    const prompts = [{ id: 'u', name: '', description: '', content: 'By the user.' }];
    await world.user.patch(`${writer}/settings`, { prompts }, 200);
    await call('change_agent', { agent: '@Writer', name: 'Poet', instructions: 'Rhyme.' });
    expect(await get<AgentDetails>(`${writer}/details`)).toMatchObject({
      name: 'Poet',
      slug: 'writer',
      role: 'Writer',
      description: 'Writes, edits, summarizes and translates texts.',
    });
    const contents = async () => (await get<AgentSettings>(`${writer}/settings`)).prompts.map(({ content }) => content);
    expect(await contents()).toEqual(['By the user.', 'Rhyme.']);
    await call('change_agent', { agent: 'writer', instructions: 'Do not rhyme.', model: 'opus' });
    expect(await contents()).toEqual(['By the user.', 'Do not rhyme.']);
    await call('change_agent', { agent: 'writer', instructions: '' });
    expect(await contents()).toEqual(['By the user.']);
    expect(await get<AgentSettings>(`${writer}/settings`)).toMatchObject({ model: 'opus' });
  });

  it('rename the manager too', async () => {
    const { call } = await begin();
    await call('change_agent', { agent: 'manager', name: 'Ada' });
    expect((await list())[0]).toMatchObject({ name: 'Ada', slug: 'manager' });
  });

  it('remove an agent, and tell clients to load the list again', async () => {
    const { call } = await begin();
    const before = (await get<Workspace>(world.home.workspace)).agents_rev;
    expect(await call('remove_agent', { agent: 'coder' })).toMatchObject({ failed: false });
    expect(await slugs()).not.toContain('coder');
    expect((await get<Workspace>(world.home.workspace)).agents_rev).not.toBe(before);
    const events = await get<ReplayedEvent[]>(`${world.home.workspace}/events`);
    expect(events.map(({ event }) => event)).toContain('workspace.updated');
  });

  it('execute a call once, also if it is repeated after a crash', async () => {
    const { call } = await begin();
    const first = await call('add_agent', { name: 'Tax adviser' }, { id: 'a' });
    expect(await call('add_agent', { name: 'Tax adviser' }, { id: 'a' })).toEqual(first);
    expect(await list()).toHaveLength(6);
    await call('remove_agent', { agent: 'tax-adviser' }, { id: 'b' });
    expect(await call('remove_agent', { agent: 'tax-adviser' }, { id: 'b' })).toMatchObject({ failed: false });
  });

  it('change nothing without the lease of the turn', async () => {
    const { call, job } = await begin();
    const by = await world.turnWorker.writerOf({ ...job, leaseId: '00000000-0000-7000-8000-000000000000' });
    await expect(call('add_agent', { name: 'x' }, { by })).rejects.toThrow(LeaseLost);
    expect(await list()).toHaveLength(5);
  });

  it.each([
    ['add_agent', { name: 'researcher' }, /agent with the name Researcher: @researcher/],
    ['add_agent', { name: ' \u202E ' }, /^add_agent: name: /],
    ['add_agent', { name: 'x', skills: ['cooking'] }, /^add_agent: skills\.0: .*"web_search"/],
    ['add_agent', { name: 'x', model: 'gpt' }, /^add_agent: model: .*"opus"/],
    ['add_agent', { name: 'x', tools: [{ name: 'none', permission: 'deny' }] }, /tools\.0\.name: .*"artifacts"/],
    ['add_agent', { name: 'x', tools: [{ name: 'agents', permission: 'deny' }] }, /tools\.0\.name: /],
    ['add_agent', { name: 'x', tools: [{ name: 'web_search_tool', permission: 'ask' }] }, /never asks/],
    ['add_agent', { name: 'x', avatar_url: 'http://example.com/a.png' }, /must be an https URL/],
    ['change_agent', { agent: 'nobody', name: 'x' }, /no agent nobody\. There are: manager, researcher/],
    ['change_agent', { agent: 'writer', name: 'Coder' }, /agent with the name Coder: @coder/],
    [
      'change_agent',
      { agent: 'writer', tools: [{ name: 'agents', permission: 'allow' }] },
      /Only the manager can have the tool agents/,
    ],
    ['remove_agent', { agent: 'manager' }, /manager cannot be removed/],
    ['remove_agent', { agent: 'nobody' }, /There is no agent nobody/],
  ])('%s %j is refused with a reason, and changes nothing', async (tool, input, reason) => {
    const { call } = await begin();
    const before = await list();
    const { text, failed } = await call(tool, input);
    expect({ text, failed }).toEqual({ text: expect.stringMatching(reason), failed: true });
    expect(await list()).toEqual(before);
  });

  it('add no more than the limit', async () => {
    const { call } = await begin();
    const names = Array.from({ length: LIMITS.subAgents - 4 }, (_, index) => `Agent ${index}`);
    for (const name of names) expect(await call('add_agent', { name })).toMatchObject({ failed: false });
    expect(await call('add_agent', { name: 'One more' })).toMatchObject({
      failed: true,
      text: expect.stringContaining(`${LIMITS.subAgents} agents besides the manager`),
    });
  });

  it('give no permission that the manager does not have', async () => {
    const { call } = await begin();
    await permit('manager', 'web_search_tool', 'deny');
    await permit('manager', 'memories', 'ask');
    await call('add_agent', { name: 'Helper' });
    expect(await permissions('helper')).toMatchObject({ web_search_tool: 'deny', memories: 'ask', artifacts: 'allow' });
    const give = (name: string, permission: string) =>
      call('change_agent', { agent: 'helper', tools: [{ name, permission }] });
    for (const [name, permission, limit] of [
      ['web_search_tool', 'allow', 'deny'],
      ['memories', 'allow', 'ask'],
    ] as const)
      expect(await give(name, permission)).toMatchObject({
        failed: true,
        text: expect.stringContaining(`Your own permission for ${name} is ${limit}`),
      });
    expect(await give('artifacts', 'ask')).toMatchObject({ failed: false });
    expect(await permissions('helper')).toMatchObject({ web_search_tool: 'deny', memories: 'ask', artifacts: 'ask' });
  });

  it('show the user all of a change before it is approved', async () => {
    const { turn } = await begin();
    const call = { workspaceId: turn.workspace_id, userId: turn.user_id, agentId: turn.agent_id } as never;
    const preview = (name: string, input: object) =>
      tools()
        .find((tool) => tool.name === name)!
        .preview(input, call);
    const change = { agent: 'writer', name: 'Poet', model: 'opus', tools: [{ name: 'files', permission: 'deny' }] };
    expect(await preview('change_agent', change)).toEqual({
      title: 'Changing the agent @writer',
      changes: [
        { label: 'Agent', after: 'Writer' },
        { label: 'Name', before: 'Writer', after: 'Poet' },
        { label: 'Model', before: '', after: 'opus' },
        { label: 'Tool', after: 'files: deny' },
      ],
    });
    expect(await preview('remove_agent', { agent: 'coder' })).toEqual({
      title: 'Removing the agent @coder',
      changes: [
        { label: 'Name', after: 'Coder' },
        { label: 'Description', after: 'Writes and explains code.' },
      ],
    });
  });
});
