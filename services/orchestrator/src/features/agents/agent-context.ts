import type { AgentModel, AgentPrompt, ResponseLength } from '@uswarm/contract';
import { MEMORIES_TOOL } from '@uswarm/contract/agent-tools';
import type { Tool } from '../core/catalog.js';
import type { AgentSettingsStore } from './agent-settings.store.js';
import { toolsOf } from './agent-tools.js';
import { chooseMemories } from './choose-memories.js';
import type { MemoryStore, NewMemory } from './memories.store.js';

/** Settings, tools and memories that are sent to an agent with each turn. */
export interface AgentContext {
  /** Null if the default of the runtime applies. */
  model: AgentModel | null;
  responseLength: ResponseLength;
  /** Additional instructions, in order. */
  prompts: AgentPrompt[];
  /** Names of the tools that the runtime may offer. */
  tools: string[];
  memories: NewMemory[];
}

export interface AgentContextDeps {
  settings: Pick<AgentSettingsStore, 'ofAgent'>;
  memories: Pick<MemoryStore, 'rank' | 'read'>;
  tools: readonly Tool[];
}

/** Texts that the memories of a turn are chosen for, the most important first. */
export type Question = () => Promise<readonly string[]>;

/** Loads the current settings, tools and memories, so that a change applies from the next turn. */
export function createAgentContextLoader({ settings, memories, tools }: AgentContextDeps) {
  async function recall(agentId: string, question: Question): Promise<NewMemory[]> {
    const texts = await question();
    return memories.read(agentId, chooseMemories(await memories.rank(agentId, texts)));
  }

  return async (agentId: string, question: Question): Promise<AgentContext> => {
    const row = await settings.ofAgent(agentId);
    if (row === undefined) throw new Error('the agent of the turn does not exist');
    const enabled = toolsOf(tools, row.switches).flatMap((tool) => (tool.enabled ? [tool.name] : []));
    return {
      model: row.model,
      responseLength: row.response_length,
      prompts: row.prompts.filter(({ content }) => content.trim() !== ''),
      tools: enabled.filter((name) => name !== MEMORIES_TOOL),
      memories: enabled.includes(MEMORIES_TOOL) ? await recall(agentId, question) : [],
    };
  };
}
