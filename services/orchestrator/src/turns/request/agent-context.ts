import type { AgentModel, AgentPrompt, ResponseLength } from '@uswarm/contract';
import { MEMORIES_TOOL } from '@uswarm/contract/agent-tools';
import { isServerTool, type PlatformTool } from '../tools/platform-tool.js';
import type { Tool } from '../../platform/core/catalog.js';
import type { ModelCatalog } from '../../platform/core/models.js';
import { toolsOf } from '../../records/agent-tools.js';
import { chooseMemories } from './choose-memories.js';
import type { NewMemory } from '../../records/memories.store.js';
import type { AgentSettingsRow } from '../../records/agent-settings.store.js';
import type * as agentSettingsRecords from '../../records/agent-settings.store.js';
import type * as memoryRecords from '../../records/memories.store.js';
import type * as integrationRecords from '../../records/integrations.store.js';
import type { Database } from '../../platform/database/database.js';

export interface AgentContext {
  /** Null if the runtime's default applies. */
  model: AgentModel | null;
  responseLength: ResponseLength;
  /** In order. */
  prompts: AgentPrompt[];
  /** The runtime runs these itself or calls them on a tool server. */
  tools: string[];
  /** The orchestrator executes these on request. */
  requestedTools: string[];
  /** Subset of `requestedTools` that needs the user's approval. */
  askedTools: string[];
  memories: NewMemory[];
}

export type LoadedAgent = AgentContext & Pick<AgentSettingsRow, 'members' | 'untrusted'>;

export interface AgentContextDeps {
  database: Database;
  settings: Pick<typeof agentSettingsRecords, 'findSettingsOfAgent'>;
  memories: Pick<typeof memoryRecords, 'rankMemories' | 'readMemories'>;
  tools: readonly Tool[];
  platformTools: readonly Pick<PlatformTool, 'name' | 'switchedBy' | 'effect' | 'provider'>[];
  connections: Pick<typeof integrationRecords, 'listConnectedAppsOfAgent'>;
  subAgentModel: ModelCatalog['subAgentModel'];
}

/** Texts for choosing a turn's memories, most important first. */
export type Question = () => Promise<readonly string[]>;

/** Loads the current settings, tools and memories, so that a change applies from the next turn. */
export function createAgentContextLoader(deps: AgentContextDeps) {
  const { database, settings, memories, tools, platformTools, connections, subAgentModel } = deps;
  /** Catalogue entries that enable tools with other names. */
  const switches = new Set([MEMORIES_TOOL, ...platformTools.map(({ switchedBy }) => switchedBy)]);

  async function recall(agentId: string, question: Question): Promise<NewMemory[]> {
    const texts = await question();
    return memories.readMemories(
      database,
      agentId,
      chooseMemories(await memories.rankMemories(database, agentId, texts)),
    );
  }

  /** Orchestrator tools that the agent may use: enabled, and without an app or with a connected one. */
  async function usable(agentId: string, enabled: readonly string[]): Promise<typeof platformTools> {
    const switchedOn = platformTools.filter(({ switchedBy }) => enabled.includes(switchedBy));
    if (switchedOn.every(({ provider }) => provider === undefined)) return switchedOn;
    const connected = await connections.listConnectedAppsOfAgent(database, agentId);
    return switchedOn.filter(({ provider }) => provider === undefined || connected.includes(provider));
  }

  return async (
    agentId: string,
    question: Question,
    serverTools: readonly PlatformTool[] = [],
  ): Promise<LoadedAgent> => {
    const row = await settings.findSettingsOfAgent(database, agentId);
    if (row === undefined) throw new Error('the agent of the turn does not exist');
    const switched = toolsOf([...tools, ...serverTools.flatMap(({ entry }) => entry ?? [])], row);
    const enabled = switched.flatMap((tool) => (tool.enabled ? [tool.name] : []));
    const requested = [
      ...(await usable(agentId, enabled)),
      ...serverTools.filter(({ switchedBy }) => enabled.includes(switchedBy)),
    ];
    const asked = new Set(switched.flatMap((tool) => (tool.permission === 'ask' ? [tool.name] : [])));
    return {
      members: row.members,
      untrusted: row.untrusted,
      model: row.model ?? (row.kind === 'sub-agent' ? subAgentModel : null),
      responseLength: row.response_length,
      prompts: row.prompts.filter(({ content }) => content.trim() !== ''),
      tools: enabled.filter((name) => !switches.has(name) && !isServerTool(name)),
      requestedTools: requested.map(({ name }) => name),
      askedTools: requested.flatMap(({ name, switchedBy, effect }) =>
        effect !== 'read' && asked.has(switchedBy) ? [name] : [],
      ),
      memories: row.hasMemories && enabled.includes(MEMORIES_TOOL) ? await recall(agentId, question) : [],
    };
  };
}
