import type { ConversationPage } from '@uswarm/contract';
import type { ViewContext } from './message-view.js';
import type { ConversationCursorCodec, ConversationPageDirection } from './conversation-cursor.js';
import { conversationView } from './conversation-view.js';
import type { ConversationPosition } from './conversations.store.js';
import type * as conversationRecords from './conversations.store.js';
import type { Database } from '../platform/database/database.js';

export interface ConversationPageDeps {
  database: Database;
  store: Pick<typeof conversationRecords, 'listConversationPositions' | 'findConversations'>;
  cursors: ConversationCursorCodec;
}

export interface ConversationQuery {
  /** Undefined: all. */
  limit?: number | undefined;
  scrollId?: string | undefined;
}

/** Lists the most recently active conversations first. */
export async function readConversations(
  { database, store, cursors }: ConversationPageDeps,
  { limit, scrollId }: ConversationQuery,
  where: { userId: string; workspaceId: string },
  viewContext: ViewContext,
): Promise<ConversationPage> {
  const cursor = scrollId === undefined ? undefined : cursors.decode(scrollId, where);
  const pageDirection = cursor?.pageDirection ?? 'older';
  const found = await store.listConversationPositions(
    database,
    where.workspaceId,
    pageDirection,
    cursor,
    limit === undefined ? null : limit + 1,
  );
  const page = found.slice(0, limit);
  const rows = await store.findConversations(
    database,
    page.map(({ id }) => id),
  );
  const views = new Map(rows.map((row) => [row.own_id, conversationView(row, viewContext)]));
  const listed = pageDirection === 'older' ? page : page.toReversed();
  const more = page.length < found.length;

  const any = async (side: ConversationPageDirection, edge: ConversationPosition | undefined): Promise<boolean> =>
    edge !== undefined &&
    (await store.listConversationPositions(database, where.workspaceId, side, edge, 1)).length > 0;
  // Also of conversations that were deleted meanwhile, which have a position only.
  const [first, last] = [listed.at(0), listed.at(-1)];
  const hasNext = pageDirection === 'older' ? more : await any('older', last);
  const hasPrev = pageDirection === 'newer' ? more : cursor !== undefined && (await any('newer', first));
  const at = (edge: ConversationPosition | undefined, side: ConversationPageDirection): string | null =>
    edge === undefined ? null : cursors.encode({ ...edge, pageDirection: side }, where);
  return {
    data: listed.flatMap(({ id }) => views.get(id) ?? []),
    pagination: {
      next_scroll_id: hasNext ? at(last, 'older') : null,
      prev_scroll_id: hasPrev ? at(first, 'newer') : null,
      has_next: hasNext,
      has_prev: hasPrev,
    },
  };
}
