import { type AdminServerTool, ApiError } from '@uswarm/contract';
import type { Database, WithTransaction } from '../../platform/database/database.js';
import { appendAudit } from '../../records/audit.store.js';
import { acceptChanges, type DefinitionRow, listDefinitions } from '../../records/tool-definitions.store.js';
import type { Listing } from './listing.js';
import { isAllowed, type ToolServer } from './tool-servers-file.js';

export interface ToolReviewDeps {
  servers: readonly ToolServer[];
  refreshAll: Listing['refreshAll'];
  database: Database;
  withTransaction: WithTransaction;
  /** Called after a change is accepted. */
  accepted: () => void;
}

/** Lets an operator look at changed tools, and accept them. */
export interface ToolReview {
  list(): Promise<AdminServerTool[]>;
  /**
   * @param tools default: all changed ones
   * @returns the names that had changed
   * @throws ApiError `tool_not_found` for an unknown server, or a named tool that has not changed
   */
  accept(actor: string, server: string, tools: readonly string[] | undefined): Promise<string[]>;
}

function stateOf(server: ToolServer, { definition, changed, isListed }: DefinitionRow): AdminServerTool['state'] {
  if (!isListed) return 'missing';
  if (!isAllowed(server, definition.name)) return 'not_allowed';
  return changed === null ? 'offered' : 'changed';
}

const REFRESH_MS = 15_000;

const shown = ({ description, inputSchema, readOnly }: DefinitionRow['definition']) => ({
  description,
  inputSchema,
  readOnly,
});

export function createToolReview({
  servers,
  refreshAll,
  database,
  withTransaction,
  accepted,
}: ToolReviewDeps): ToolReview {
  function view(row: DefinitionRow): AdminServerTool[] {
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
  }

  return {
    async list() {
      if (servers.length === 0) return [];
      // If a server does not answer, its last known tools are listed.
      await refreshAll(AbortSignal.timeout(REFRESH_MS)).catch(() => undefined);
      const rows = await listDefinitions(
        database,
        servers.map(({ id }) => id),
      );
      return rows.flatMap(view);
    },

    async accept(actor, server, tools) {
      const names = await withTransaction(async (tx) => {
        if (servers.every(({ id }) => id !== server)) throw new ApiError('tool_not_found');
        const changed = await acceptChanges(tx, server, tools);
        if (tools?.some((name) => !changed.includes(name))) throw new ApiError('tool_not_found');
        await appendAudit(tx, { actor, action: 'tools.accept', details: { server, tools: changed } });
        return changed;
      });
      accepted();
      return names;
    },
  };
}
