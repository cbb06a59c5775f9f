import {
  type AgentSettings,
  type AgentTool,
  ApiError,
  type UpdateAgentSettingsBody,
  type UpdateAgentToolBody,
} from '@uswarm/contract';
import { visibleLine } from '../../platform/http/visible-text.js';
import type { Tool } from '../../platform/core/catalog.js';
import {
  type AgentSettingsRow,
  findAgentSettings,
  changeAgentSettings,
  setAgentTool,
} from '../../records/agent-settings.store.js';
import { toolOf, toolsForKind, toolsOf, toolSetting } from '../../records/agent-tools.js';
import type { ServerTools } from '../../turns/tools/platform-tool.js';
import type { createShownModel } from './default-model.js';
import type { Database } from '../../platform/database/database.js';

export interface AgentSettingsServiceDeps {
  database: Database;
  tools: readonly Tool[];
  serverTools: ServerTools;
  shownModel: ReturnType<typeof createShownModel>;
}

/** All methods throw ApiError `agent_not_found`, and the errors noted. */
export interface AgentSettingsService {
  settings(userId: string, agentId: string): Promise<AgentSettings>;
  update(userId: string, agentId: string, change: UpdateAgentSettingsBody): Promise<AgentSettings>;
  tools(userId: string, agentId: string): Promise<AgentTool[]>;
  /** @throws ApiError `tool_not_found`, `tool_forced`, `permission_not_supported` */
  updateTool(userId: string, agentId: string, name: string, change: UpdateAgentToolBody): Promise<AgentTool>;
}

export function createAgentSettingsService(deps: AgentSettingsServiceDeps): AgentSettingsService {
  const { database, shownModel } = deps;

  const catalog = async (userId: string): Promise<Tool[]> => [
    ...deps.tools,
    ...(await deps.serverTools(userId)).flatMap(({ entry }) => entry ?? []),
  ];

  async function require(userId: string, agentId: string): Promise<AgentSettingsRow> {
    const row = await findAgentSettings(database, userId, agentId);
    if (row === undefined) throw new ApiError('agent_not_found');
    return row;
  }

  async function settings(userId: string, agentId: string): Promise<AgentSettings> {
    const { model, kind, response_length, prompts } = await require(userId, agentId);
    return { model: model ?? shownModel(kind), response_length, prompts };
  }

  return {
    settings,

    async update(userId, agentId, sent) {
      const { prompts } = sent;
      const cleaned = prompts?.map((prompt) => ({ ...prompt, name: visibleLine(prompt.name) }));
      const change = cleaned === undefined ? sent : { ...sent, prompts: cleaned, untrusted: false as const };
      const changes = Object.values(change).some((value) => value !== undefined);
      if (changes && !(await changeAgentSettings(database, userId, agentId, change)))
        throw new ApiError('agent_not_found');
      return settings(userId, agentId);
    },

    async tools(userId, agentId) {
      const row = await require(userId, agentId);
      return toolsOf(await catalog(userId), row);
    },

    async updateTool(userId, agentId, name, { enabled, permission }) {
      const row = await require(userId, agentId);
      const entry = toolsForKind(await catalog(userId), row.kind).find((each) => each.name === name);
      if (entry === undefined) throw new ApiError('tool_not_found');
      if (entry.isForced === true && (enabled === false || permission === 'deny')) throw new ApiError('tool_forced');
      if (permission === 'ask' && !entry.changes) throw new ApiError('permission_not_supported');
      const setting = toolSetting({ enabled, permission });
      if (!(await setAgentTool(database, userId, agentId, name, setting))) throw new ApiError('agent_not_found');
      const kept = setting.permission ?? row.toolSettings[name]?.permission ?? null;
      return toolOf(entry, { ...setting, permission: kept });
    },
  };
}
