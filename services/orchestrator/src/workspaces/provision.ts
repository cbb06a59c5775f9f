import { randomUUIDv7 } from 'node:crypto';
import type { Transaction } from '../platform/database/database.js';
import type { AgentStore } from '../records/agents.store.js';
import type { ConversationStore } from '../chat/conversations.store.js';
import type { AgentTemplate } from '../platform/core/catalog.js';
import type { RuntimeRequests } from '../records/runtime-requests.js';
import type { WorkspaceStore } from './workspaces.store.js';

export interface ProvisionDeps {
  workspaces: Pick<WorkspaceStore, 'insert'>;
  agents: Pick<AgentStore, 'insertAll'>;
  conversations: Pick<ConversationStore, 'insert'>;
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
    await deps.workspaces.insert({ id: workspaceId, ownerId: userId, name }, tx);
    const members = deps.agentTemplates.map((template, sortOrder) => ({ ...template, id: randomUUIDv7(), sortOrder }));
    await deps.agents.insertAll(workspaceId, members, tx);
    await deps.conversations.insert({ id: randomUUIDv7(), workspaceId, type: 'swarm', agentId: null }, tx);
    await deps.runtimes.requestRunning(workspaceId, userId, tx);
    return workspaceId;
  };
}
