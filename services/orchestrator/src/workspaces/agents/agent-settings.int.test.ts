import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type AgentPrompt, type AgentSettings, type AgentTool, LIMITS } from '@uswarm/contract';
import { startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../../test/test-orchestrator.js';

const prompt = (id: string, more: Partial<AgentPrompt> = {}): AgentPrompt => ({
  id,
  name: 'Tone',
  description: 'How it sounds',
  content: 'Be kind.',
  ...more,
});

describe('settings and tools of an agent', () => {
  let uswarm: TestOrchestrator;
  let user: TestUser;
  /** `/v1/agents/<id>` */
  let agent: string;
  let colleague: string;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
  });
  afterAll(() => uswarm.close());
  beforeEach(async () => {
    user = await uswarm.user();
    const { agents } = await uswarm.home(user);
    [agent, colleague] = agents.map(({ id }) => `/v1/agents/${id}`) as [string, string];
  });

  const settings = async (of = agent) => (await user.get<{ data: AgentSettings }>(`${of}/settings`)).body.data;
  const tools = async (of = agent) => (await user.get<{ data: AgentTool[] }>(`${of}/tools`)).body.data;
  const change = async (body: unknown) =>
    (await user.patch<{ data: AgentSettings }>(`${agent}/settings`, body, 200)).body.data;
  const switchTool = async (name: string, enabled: boolean) =>
    (await user.patch<{ data: AgentTool }>(`${agent}/tools/${name}`, { enabled }, 200)).body.data;

  it('REST-022 GET /v1/agents/{id}/settings returns the settings of that agent', async () => {
    const made = { model: 'opus', response_length: 'long', prompts: [prompt('a')] };
    await user.patch(`${agent}/settings`, made, 200);
    expect(await settings()).toEqual(made);
    expect(await settings(colleague)).toEqual({ model: 'flash', response_length: 'auto', prompts: [] });
  });

  it('RES-039 settings have model, response_length and prompts, each with four strings', async () => {
    const prompts = [prompt('b', { content: '' }), prompt('a', { name: '', description: '' })];
    await change({ prompts });
    expect(await settings()).toEqual({ model: 'sonnet', response_length: 'auto', prompts });
  });

  it('a change affects only the given fields', async () => {
    await change({ model: 'flash', response_length: 'short', prompts: [prompt('a')] });
    expect(await change({ response_length: 'medium' })).toMatchObject({ model: 'flash', response_length: 'medium' });
    expect(await change({ model: 'opus' })).toMatchObject({ response_length: 'medium', prompts: [prompt('a')] });
    expect(await change({ prompts: [] })).toEqual({ model: 'opus', response_length: 'medium', prompts: [] });
    expect(await change({})).toEqual({ model: 'opus', response_length: 'medium', prompts: [] });
  });

  it('keeps all concurrent changes of different settings', async () => {
    const changes = [{ model: 'opus' }, { response_length: 'short' }, { prompts: [prompt('a')] }];
    await Promise.all(changes.map((body) => change(body)));
    expect(await settings()).toEqual({ model: 'opus', response_length: 'short', prompts: [prompt('a')] });
  });

  it('unknown fields are ignored', async () => {
    const answer = await change({ model: 'opus', mood: 'good', prompts: [{ ...prompt('a'), mood: 'good' }] });
    expect(answer).toEqual({ model: 'opus', response_length: 'auto', prompts: [prompt('a')] });
  });

  it('null leaves a setting unchanged', async () => {
    const answer = await change({ model: null, response_length: 'long', prompts: null });
    expect(answer).toEqual({ model: 'sonnet', response_length: 'long', prompts: [] });
  });

  it.each([
    ['an unknown model', { model: 'gpt' }],
    ['an unknown length', { response_length: 'endless' }],
    ['a prompt without content', { prompts: [{ id: 'a', name: '', description: '' }] }],
    ['two prompts with one id', { prompts: [prompt('a'), prompt('a')] }],
    ['too many prompts', { prompts: Array.from({ length: LIMITS.promptsPerAgent + 1 }, (_, n) => prompt(`${n}`)) }],
    ['a prompt that is too long', { prompts: [prompt('a', { content: 'x'.repeat(LIMITS.promptText + 1) })] }],
  ])('%s is rejected, and nothing changes', async (_what, body) => {
    expect(await user.refusal('PATCH', `${agent}/settings`, { response_length: 'long', ...body })).toBe(
      'validation_failed',
    );
    expect(await settings()).toEqual({ model: 'sonnet', response_length: 'auto', prompts: [] });
  });

  it('REST-023 GET /v1/agents/{id}/tools returns the tools of that agent', async () => {
    await switchTool('web_search_tool', false);
    const shown = (of: AgentTool[]) => of.map(({ name, enabled }) => [name, enabled]);
    expect(shown(await tools())).toEqual([
      ['web_search_tool', false],
      ['read_page_tool', true],
      ['memories', true],
      ['artifacts', true],
      ['files', true],
      ['workflows', true],
      ['schedules', true],
      ['delegation', true],
      ['agents', true],
      ['action_card_tool', true],
    ]);
    expect(shown(await tools(colleague))).toEqual([
      ['web_search_tool', true],
      ['read_page_tool', true],
      ['memories', true],
      ['artifacts', true],
      ['files', true],
      ['workflows', true],
      ['schedules', true],
      ['delegation', true],
      ['action_card_tool', true],
    ]);
  });

  it('RES-040 a tool has the strings name, description, icon_url and category_id, and the boolean enabled', async () => {
    const all = await tools();
    expect(all.length).toBeGreaterThan(0);
    for (const tool of all) {
      expect(tool).toEqual({
        name: expect.stringMatching(/\w/),
        description: expect.stringMatching(/\w/),
        icon_url: expect.any(String),
        category_id: expect.stringMatching(/\w/),
        enabled: true,
        permission: 'allow',
      });
    }
  });

  it('a tool can be disabled and enabled, and the response has the new state', async () => {
    const on = (await tools()).find(({ name }) => name === 'memories');
    expect(await switchTool('memories', false)).toEqual({ ...on, enabled: false, permission: 'deny' });
    expect(await tools()).toContainEqual({ ...on, enabled: false, permission: 'deny' });
    expect(await switchTool('memories', true)).toEqual(on);
    expect(await tools()).toContainEqual(on);
  });

  it('a tool can ask before each call, also after it was disabled and enabled', async () => {
    const set = async (permission: string) =>
      (await user.patch<{ data: AgentTool }>(`${agent}/tools/memories`, { permission }, 200)).body.data;
    expect(await set('ask')).toMatchObject({ enabled: true, permission: 'ask' });
    expect(await set('deny')).toMatchObject({ enabled: false, permission: 'deny' });
    expect(await switchTool('memories', true)).toMatchObject({ enabled: true, permission: 'ask' });
    expect(await set('allow')).toMatchObject({ enabled: true, permission: 'allow' });
    expect(await tools(colleague)).toContainEqual(expect.objectContaining({ name: 'memories', permission: 'allow' }));
  });

  it.each([{}, { enabled: true, permission: 'ask' }, { permission: 'sometimes' }])(
    'rejects the change %j',
    async (body) => {
      expect(await user.refusal('PATCH', `${agent}/tools/memories`, body)).toBe('validation_failed');
    },
  );

  it('a tool that changes nothing cannot ask', async () => {
    const path = `${agent}/tools/web_search_tool`;
    expect(await user.refusal('PATCH', path, { permission: 'ask' })).toBe('permission_not_supported');
  });

  it.each(['nothing', '__proto__', 'constructor', '%00', 'web_search_tool%20'])(
    'an unknown tool %s is not found',
    async (name) => {
      expect(await user.refusal('PATCH', `${agent}/tools/${name}`, { enabled: true })).toBe('tool_not_found');
    },
  );

  it('enabled must be a boolean', async () => {
    for (const body of [{}, { enabled: null }, { enabled: 'yes' }])
      expect(await user.refusal('PATCH', `${agent}/tools/memories`, body)).toBe('validation_failed');
  });
});

describe('the model of an agent without one', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ environment: { USWARM_DEFAULT_MODEL: 'opus' } });
  });
  afterAll(() => uswarm.close());

  it('RES-039 is the default of its runtime for the manager, and flash for sub-agents', async () => {
    const user = await uswarm.user();
    const { agents } = await uswarm.home(user);
    const models = agents.map(async ({ id }) => {
      const { body } = await user.get<{ data: AgentSettings }>(`/v1/agents/${id}/settings`);
      return body.data.model;
    });
    expect(await Promise.all(models)).toEqual(['opus', ...agents.slice(1).map(() => 'flash')]);
  });
});
