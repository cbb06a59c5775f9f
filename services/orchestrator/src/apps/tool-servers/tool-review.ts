import { ApiError, type ServerTool } from '@uswarm/contract';
import type { Database, WithTransaction } from '../../platform/database/database.js';
import { appendAudit } from '../../records/audit.store.js';
import {
  acceptChanges,
  type DefinitionRow,
  type DefinitionSource,
  listDefinitions,
} from '../../records/tool-definitions.store.js';
import { isAllowed, type ToolServer } from './tool-servers-file.js';

export interface ToolReviewDeps {
  database: Database;
  withTransaction: WithTransaction;
  /** Called after a change is accepted. */
  accepted: () => void;
}

/** Shows changed tools, and accepts them. */
export interface ToolReview {
  /** @param ownerId null for shared accounts */
  list(servers: readonly ToolServer[], ownerId: string | null): Promise<(ServerTool & { server: string })[]>;
  /**
   * @param by an operator, or the owner
   * @param tools default: all changed ones
   * @returns the names that had changed
   * @throws ApiError `tool_not_found` for a named tool that has not changed
   */
  accept(by: string, source: DefinitionSource, tools: readonly string[] | undefined): Promise<string[]>;
}

function stateOf(server: ToolServer, { definition, changed, isListed }: DefinitionRow): ServerTool['state'] {
  if (!isListed) return 'missing';
  if (!isAllowed(server, definition.name)) return 'not_allowed';
  return changed === null ? 'offered' : 'changed';
}

const shown = ({ description, inputSchema, readOnly }: DefinitionRow['definition']): ServerTool['accepted'] => ({
  description,
  input_schema: inputSchema,
  read_only: readOnly,
});

export function createToolReview({ database, withTransaction, accepted }: ToolReviewDeps): ToolReview {
  return {
    async list(servers, ownerId) {
      if (servers.length === 0) return [];
      const ids = servers.map(({ id }) => id);
      const rows = await listDefinitions(database, ids, ownerId);
      return rows.flatMap((row) => {
        const server = servers.find(({ id }) => id === row.server);
        if (server === undefined) return [];
        const { definition, changed } = row;
        return [
          {
            server: server.id,
            name: definition.name,
            state: stateOf(server, row),
            accepted: shown(definition),
            changed: changed === null ? null : shown(changed),
          },
        ];
      });
    },

    async accept(by, source, tools) {
      const { server, ownerId } = source;
      const names = await withTransaction(async (tx) => {
        const changed = await acceptChanges(tx, source, tools);
        if (tools?.some((name) => !changed.includes(name))) throw new ApiError('tool_not_found');
        const details = { server, tools: changed };
        const owner = ownerId === null ? {} : { userId: ownerId };
        await appendAudit(tx, { actor: by, action: 'tools.accept', ...owner, details });
        return changed;
      });
      accepted();
      return names;
    },
  };
}
