import {
  type AgentMemory,
  type AgentMemoryList,
  ApiError,
  type CreateMemoryBody,
  type UpdateMemoryBody,
} from '@uswarm/contract';
import { requiredLine, visibleLine } from '../../platform/http/visible-text.js';
import type { WithTransaction, Database } from '../../platform/database/database.js';
import type { AgentAccess } from './agent-access.js';
import type { ListCursorCodec } from '../../records/list-cursor.js';
import type { WorkspaceAccess } from '../workspace-access.js';
import {
  type MemoryRow,
  listMemories,
  findMemoryScope,
  lockMemories,
  permitMemory,
  putMemory,
  editMemory,
  deleteMemory,
} from '../../records/memories.store.js';

export interface MemoryLimits {
  perAgent: number;
  /** Maximum content size in UTF-8 bytes. */
  contentBytes: number;
}

export interface MemoryServiceDeps {
  withTransaction: WithTransaction;
  database: Database;
  access: AgentAccess;
  workspaces: WorkspaceAccess;
  cursors: ListCursorCodec;
  limits: MemoryLimits;
}

export interface MemoryQuery {
  category?: string | undefined;
  scrollId?: string | undefined;
}

export interface MemoryPlace {
  workspaceId: string;
  agentId: string;
  key: string;
}

/** All methods throw ApiError `agent_not_found`, and the errors noted. */
export interface MemoryService {
  /** Lists as many memories as fit into one response. @throws ApiError `cursor_invalid` */
  list(userId: string, agentId: string, query: MemoryQuery): Promise<AgentMemoryList>;
  /** Creates or replaces the memory with this key. @throws ApiError `memory_too_large`, `memory_limit_reached` */
  remember(userId: string, agentId: string, memory: CreateMemoryBody): Promise<AgentMemory>;
  /** @throws ApiError `workspace_not_found`, `memory_not_found`, `memory_too_large`, `memory_limit_reached` */
  edit(userId: string, place: MemoryPlace, change: UpdateMemoryBody): Promise<AgentMemory>;
  /** @throws ApiError `memory_not_found` */
  forget(userId: string, agentId: string, key: string): Promise<void>;
}

/** RES-041 */
function memoryView({ key, content, category, scope, created_by, source, ...row }: MemoryRow): AgentMemory {
  const times = { created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() };
  return { key, content, category, ...times, created_by, source, scope };
}

/** Postgres cannot store NUL characters, which a path can contain. */
const isStorable = (key: string): boolean => !key.includes('\0');

export function createMemoryService({
  withTransaction,
  database,
  access,
  workspaces,
  cursors,
  limits,
}: MemoryServiceDeps): MemoryService {
  function checkSize(content: string): void {
    if (Buffer.byteLength(content) > limits.contentBytes) throw new ApiError('memory_too_large');
  }

  return {
    async list(userId, agentId, { category: sent, scrollId }) {
      await access.require(userId, agentId);
      const category = sent === undefined ? undefined : visibleLine(sent);
      const scope = [userId, agentId, category ?? null];
      const after = scrollId === undefined ? undefined : cursors.decode(scrollId, scope);
      const page = await listMemories(database, agentId, category, after);
      const last = page.at(-1);
      const isWhole = last === undefined || page.length === last.found;
      return {
        data: page.map(memoryView),
        ...(isWhole ? {} : { next_scroll_id: cursors.encode(last.position, scope) }),
      };
    },

    async remember(userId, agentId, { key, content, category: sent, scope: wanted }) {
      const category = requiredLine('category', sent);
      const row = await withTransaction(async (tx) => {
        // Serialize creations per workspace, so that the count stays valid until the new memory is inserted.
        if ((await lockMemories(tx, userId, agentId)) === undefined) throw new ApiError('agent_not_found');
        checkSize(content);
        const scope = await findMemoryScope(tx, agentId, { key, category, scope: wanted });
        const memory = { key, content, category, scope };
        await permitMemory(tx, agentId, memory);
        const stored = await putMemory(tx, agentId, memory, 'user', limits.perAgent);
        if (stored === undefined) throw new ApiError('memory_limit_reached');
        return stored;
      });
      return memoryView(row);
    },

    async edit(userId, { workspaceId, agentId, key }, sent) {
      const { category } = sent;
      const change = category === undefined ? sent : { ...sent, category: requiredLine('category', category) };
      await workspaces.require(userId, workspaceId);
      const row = await withTransaction(async (tx) => {
        if ((await lockMemories(tx, userId, agentId)) !== workspaceId) throw new ApiError('agent_not_found');
        if (change.content !== undefined) checkSize(change.content);
        const edited = isStorable(key) ? await editMemory(tx, agentId, key, change, limits.perAgent) : undefined;
        if (edited === 'limit') throw new ApiError('memory_limit_reached');
        // The user may write a memory again after deleting it.
        if (edited !== undefined) await permitMemory(tx, agentId, edited);
        return edited;
      });
      if (row === undefined) throw new ApiError('memory_not_found');
      return memoryView(row);
    },

    async forget(userId, agentId, key) {
      if (isStorable(key) && (await deleteMemory(database, userId, agentId, key))) return;
      await access.require(userId, agentId);
      throw new ApiError('memory_not_found');
    },
  };
}
