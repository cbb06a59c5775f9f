import { describe, expect, it } from '@jest/globals';
import type { IntegrationProvider } from '@uswarm/contract';
import type { Tool } from '../../platform/core/catalog.js';
import type { AgentSettingsRow } from '../../records/agent-settings.store.js';
import { createAgentContextLoader } from './agent-context.js';
import type { NewMemory } from '../../records/memories.store.js';
import { NO_TRANSACTION } from '../../../test/transaction.js';

const tool = (name: string): Tool => ({
  name,
  description: '',
  icon_url: '',
  category_id: '',
  enabled: true,
  changes: true,
  permission: 'allow',
});
const OFF = { enabled: false, permission: null };
const PLATFORM = [
  { name: 'remember', switchedBy: 'memories', effect: 'own' },
  { name: 'recall', switchedBy: 'memories', effect: 'read' },
  { name: 'send_mail', switchedBy: 'gmail', effect: 'once', provider: 'gmail' },
  { name: 'add_agent', switchedBy: 'agents', effect: 'own' },
] as const;
const MEMORY: NewMemory = { key: 'tea', content: 'green', category: 'core' };

function loadAgentContext(
  row: Partial<AgentSettingsRow> | undefined,
  connected: IntegrationProvider[] = [],
  subAgentModel: 'flash' | null = 'flash',
) {
  const recalls: [string, readonly string[]][] = [];
  const settings = row && {
    kind: 'manager' as const,
    model: null,
    response_length: 'auto' as const,
    prompts: [],
    toolSettings: {},
    hasMemories: true,
    members: [],
    untrusted: false,
    ...row,
  };
  const context = createAgentContextLoader({
    database: NO_TRANSACTION,
    platformTools: PLATFORM,
    settings: { findSettingsOfAgent: async () => settings },
    memories: {
      rankMemories: async (_db, agentId, texts) => {
        recalls.push([agentId, texts]);
        return [{ key: MEMORY.key, core: true, bytes: 10, updated_at: new Date(0), score: 0 }];
      },
      readMemories: async (_db, _agentId, keys) => (keys.includes(MEMORY.key) ? [MEMORY] : []),
    },
    tools: [
      tool('web_search_tool'),
      tool('memories'),
      tool('gmail'),
      ...(row?.kind === undefined ? [] : [{ ...tool('agents'), managerOnly: true as const }]),
    ],
    connections: { listConnectedAppsOfAgent: async () => connected },
    subAgentModel,
  })('a', async () => ['What do I drink?']);
  return { context, recalls };
}

describe('the context of an agent', () => {
  it('is the model, the length, the tools and the memories of the agent', async () => {
    const { context, recalls } = loadAgentContext({ model: 'opus', response_length: 'short' });
    expect(await context).toEqual({
      members: [],
      untrusted: false,
      model: 'opus',
      responseLength: 'short',
      prompts: [],
      requestedTools: ['remember', 'recall'],
      askedTools: [],
      tools: ['web_search_tool'],
      memories: [MEMORY],
    });
    expect(recalls).toEqual([['a', ['What do I drink?']]]);
  });

  it('names no model for a manager without one, and the model of sub-agents for a sub-agent without one', async () => {
    const modelOf = async (row: Partial<AgentSettingsRow>, subAgentModel?: null) =>
      (await loadAgentContext(row, [], subAgentModel).context).model;
    expect(await modelOf({ kind: 'manager' })).toBeNull();
    expect(await modelOf({ kind: 'sub-agent' })).toBe('flash');
    expect(await modelOf({ kind: 'sub-agent', model: 'opus' })).toBe('opus');
    expect(await modelOf({ kind: 'sub-agent' }, null)).toBeNull();
  });

  it('contains the prompts, in order, without empty ones', async () => {
    const prompts = ['Be kind.', ' \n', 'Be brief.'].map((content, n) => ({
      id: `${n}`,
      name: 'n',
      description: 'd',
      content,
    }));
    expect((await loadAgentContext({ prompts }).context).prompts).toEqual([prompts[0], prompts[2]]);
  });

  it('excludes tools that are disabled', async () => {
    expect((await loadAgentContext({ toolSettings: { web_search_tool: OFF } }).context).tools).toEqual([]);
  });

  it('asks before calls that change something, if the user wants it', async () => {
    const toolSettings = { memories: { enabled: true, permission: 'ask' } } as const;
    expect(await loadAgentContext({ toolSettings }).context).toMatchObject({
      requestedTools: ['remember', 'recall'],
      askedTools: ['remember'],
    });
  });

  it('has the tools of an app only if the user has connected it', async () => {
    const toolSettings = { gmail: { enabled: true, permission: 'ask' }, memories: OFF } as const;
    expect(await loadAgentContext({ toolSettings }).context).toMatchObject({ requestedTools: [], askedTools: [] });
    expect(await loadAgentContext({ toolSettings }, ['gmail']).context).toMatchObject({
      requestedTools: ['send_mail'],
      askedTools: ['send_mail'],
    });
  });

  it('has the tools of managers only if the agent is one', async () => {
    const requested = async (kind: AgentSettingsRow['kind']) =>
      (await loadAgentContext({ kind }).context).requestedTools;
    expect(await requested('manager')).toEqual(['remember', 'recall', 'add_agent']);
    expect(await requested('sub-agent')).toEqual(['remember', 'recall']);
  });

  it('has no memories if they are disabled, and reads none', async () => {
    const { context, recalls } = loadAgentContext({ toolSettings: { memories: OFF } });
    expect(await context).toMatchObject({ tools: ['web_search_tool'], requestedTools: [], memories: [] });
    expect(recalls).toEqual([]);
  });

  it('fails for an agent that does not exist', async () => {
    await expect(loadAgentContext(undefined).context).rejects.toThrow('does not exist');
  });
});
