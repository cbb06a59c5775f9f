import { randomUUIDv7 } from 'node:crypto';
import type { Transaction } from '../platform/database/database.js';
import type { AgentTemplate } from '../platform/core/agent-templates.js';
import type { RuntimeRequests } from '../records/runtime-requests.js';
import { insertWorkspace } from '../records/workspace-rows.js';
import { insertAgentTools } from '../records/agent-settings.store.js';
import { toolSetting } from '../records/agent-tools.js';
import { insertAgents } from '../records/agent-rows.js';
import { insertConversation } from '../records/conversation-rows.js';

export interface ProvisionDeps {
  runtimes: Pick<RuntimeRequests, 'requestRunning'>;
  agentTemplates: readonly AgentTemplate[];
}

/**
 * Creates a workspace with its agents and its swarm conversation, and requests its runtime.
 *
 * @returns the workspace's id
 */
export type Provision = (
  workspace: { userId: string; name: string; workspaceId?: string },
  tx: Transaction,
) => Promise<string>;

export function createProvision(deps: ProvisionDeps): Provision {
  return async ({ userId, name, workspaceId = randomUUIDv7() }, tx) => {
    await insertWorkspace(tx, { id: workspaceId, ownerId: userId, name });
    const members = deps.agentTemplates.map((template, sortOrder) => ({
      ...template,
      id: randomUUIDv7(),
      sortOrder,
      avatarUrl: template.avatar_url,
      responseLength: template.response_length,
    }));
    await insertAgents(tx, workspaceId, members);
    for (const { id, tools = [] } of members) {
      const settings = tools.map((tool) => ({ name: tool.name, ...toolSetting(tool) }));
      await insertAgentTools(tx, id, settings);
    }
    await insertConversation(tx, { id: randomUUIDv7(), workspaceId, type: 'swarm', agentId: null });
    await deps.runtimes.requestRunning(workspaceId, userId, tx);
    return workspaceId;
  };
}
