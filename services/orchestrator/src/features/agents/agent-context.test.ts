import { describe, expect, it } from '@jest/globals';
import type { Tool } from '../core/catalog.js';
import type { AgentSettingsRow } from './agent-settings.store.js';
import { createAgentContextLoader, RECALL_BYTES } from './agent-context.js';
import type { NewMemory } from './memories.store.js';

const tool = (name: string): Tool => ({ name, description: '', icon_url: '', category_id: '', enabled: true });
const MEMORY: NewMemory = { key: 'tea', content: 'green', category: 'core' };

function loadAgentContext(row: Partial<AgentSettingsRow> | undefined) {
  const asked: [string, number][] = [];
  const whole = row && { model: null, response_length: 'auto' as const, prompts: [], switches: {}, ...row };
  const equipment = createAgentContextLoader({
    settings: { ofAgent: async () => whole },
    memories: {
      recall: async (agentId, maxBytes) => {
        asked.push([agentId, maxBytes]);
        return [MEMORY];
      },
    },
    tools: [tool('web_search_tool'), tool('memories')],
  })('a');
  return { equipment, asked };
}

describe('what goes with a question', () => {
  it('is the model, the length, the tools and the memories of the agent', async () => {
    const { equipment, asked } = loadAgentContext({ model: 'opus', response_length: 'short' });
    expect(await equipment).toEqual({
      model: 'opus',
      responseLength: 'short',
      prompts: [],
      tools: ['web_search_tool'],
      memories: [MEMORY],
    });
    expect(asked).toEqual([['a', RECALL_BYTES]]);
  });

  it('is the content of the prompts, in order, without empty ones', async () => {
    const prompts = ['Be kind.', ' \n', 'Be brief.'].map((content, n) => ({
      id: `${n}`,
      name: 'n',
      description: 'd',
      content,
    }));
    expect((await loadAgentContext({ prompts }).equipment).prompts).toEqual(['Be kind.', 'Be brief.']);
  });

  it('excludes tools that are disabled', async () => {
    expect((await loadAgentContext({ switches: { web_search_tool: false } }).equipment).tools).toEqual([]);
  });

  it('has no memories if they are disabled, and reads none', async () => {
    const { equipment, asked } = loadAgentContext({ switches: { memories: false } });
    expect(await equipment).toMatchObject({ tools: ['web_search_tool'], memories: [] });
    expect(asked).toEqual([]);
  });

  it('fails for an agent that does not exist', async () => {
    await expect(loadAgentContext(undefined).equipment).rejects.toThrow('does not exist');
  });
});
