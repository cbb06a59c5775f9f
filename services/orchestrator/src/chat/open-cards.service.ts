import type { OpenCardPage } from '@uswarm/contract';
import { fitting, jsonBytes } from '../platform/http/bounded-list.js';
import type { ListCursorCodec } from '../records/list-cursor.js';
import { type CreateViewContext, messageView } from './message-view.js';
import { listOpenCards } from './open-cards.store.js';
import type { Database } from '../platform/database/database.js';

export interface OpenCardServiceDeps {
  database: Database;
  cursors: ListCursorCodec;
  createViewContext: CreateViewContext;
}

export interface OpenCardQuery {
  scrollId?: string | undefined;
  limit: number;
  /** Null: of all workspaces. */
  workspaceIds: readonly string[] | null;
}

export interface OpenCardService {
  /** Oldest first; as many as fit into one response. @throws ApiError `cursor_invalid` */
  list(userId: string, query: OpenCardQuery): Promise<OpenCardPage>;
}

export function createOpenCardService({ database, cursors, createViewContext }: OpenCardServiceDeps): OpenCardService {
  return {
    async list(userId, { scrollId, limit, workspaceIds }) {
      const scope = [userId];
      const after = scrollId === undefined ? undefined : cursors.decode(scrollId, scope);
      const rows = await listOpenCards(database, userId, { limit: limit + 1, after, workspaceIds });
      const viewContext = createViewContext();
      const page = fitting(
        rows.slice(0, limit).map((row) => ({
          position: row.listed_at,
          card: { workspace_id: row.workspace_id, message: messageView(row, viewContext) },
        })),
        ({ card }) => jsonBytes(card),
      );
      const last = page.at(-1);
      const next = last === undefined || page.length === rows.length ? null : cursors.encode(last.position, scope);
      return {
        data: page.map(({ card }) => card),
        pagination: { next_scroll_id: next, prev_scroll_id: null, has_next: next !== null, has_prev: false },
      };
    },
  };
}
