import type { AgentModel, ResponseLength } from '@uswarm/contract';
import { MEMORIES_TOOL } from '@uswarm/contract/agent-tools';
import type { Tool } from '../core/catalog.js';
import type { AgentSettingsStore } from './agent-settings.store.js';
import { toolsOf } from './agent-tools.js';
import type { MemoryStore, NewMemory } from './memories.store.js';

/** What goes with every question to an agent: how it is to answer, with what, and what it knows. */
export interface AgentContext {
  /** Null if the default of the runtime applies. */
  model: AgentModel | null;
  responseLength: ResponseLength;
  /** Extra instructions, in order. */
  prompts: string[];
  /** Names of the tools that the runtime may offer. */
  tools: string[];
  memories: NewMemory[];
}

/** With the history of a turn, well below what a gRPC message may hold and a model may read. */
export const RECALL_BYTES = 256 * 1024;

export interface AgentContextDeps {
  settings: Pick<AgentSettingsStore, 'ofAgent'>;
  memories: Pick<MemoryStore, 'recall'>;
  tools: readonly Tool[];
}

/** Reads the current settings, tools and memories, so that a change applies from the next turn on. */
export function createAgentContextLoader({ settings, memories, tools }: AgentContextDeps) {
  return async (agentId: string): Promise<AgentContext> => {
    const row = await settings.ofAgent(agentId);
    if (row === undefined) throw new Error('the agent of the turn does not exist');
    const enabled = toolsOf(tools, row.switches).flatMap((tool) => (tool.enabled ? [tool.name] : []));
    return {
      model: row.model,
      responseLength: row.response_length,
      prompts: row.prompts.flatMap(({ content }) => (content.trim() === '' ? [] : [content])),
      tools: enabled.filter((name) => name !== MEMORIES_TOOL),
      memories: enabled.includes(MEMORIES_TOOL) ? await memories.recall(agentId, RECALL_BYTES) : [],
    };
  };
}
