import type { Conversation, ConversationPage } from '@uswarm/contract';
import { fitting, jsonBytes } from '../../http/bounded-list.js';
import type { ViewContext } from '../messages/message-view.js';
import { FIELD_BYTES } from '../messages/stored-bytes.js';
import type { ConversationCursorCodec, ConversationPageDirection } from './conversation-cursor.js';
import { conversationView } from './conversation-view.js';
import type { ConversationPosition, ConversationStore } from './conversations.store.js';

export interface ConversationPageDeps {
  store: Pick<ConversationStore, 'positions' | 'findAll'>;
  cursors: ConversationCursorCodec;
}

export interface ConversationQuery {
  /** Undefined: as many as fit into one response. */
  limit?: number | undefined;
  scrollId?: string | undefined;
}

/** Lists the most recently active conversations first. A page that is too large for one response ends early. */
export async function readConversations(
  { store, cursors }: ConversationPageDeps,
  { limit, scrollId }: ConversationQuery,
  where: { userId: string; workspaceId: string },
  viewContext: ViewContext,
): Promise<ConversationPage> {
  const cursor = scrollId === undefined ? undefined : cursors.decode(scrollId, where);
  const pageDirection = cursor?.pageDirection ?? 'older';
  const found = await store.positions(where.workspaceId, pageDirection, cursor, limit === undefined ? null : limit + 1);
  const fitted = fitting(found.slice(0, limit), ({ bytes }) => bytes + FIELD_BYTES);
  const rows = await store.findAll(fitted.map(({ id }) => id));
  const views = new Map(rows.map((row) => [row.own_id, conversationView(row, viewContext)]));
  const entries = fitted.flatMap((position): Entry[] => {
    const view = views.get(position.id);
    return view === undefined ? [] : [{ position, view }];
  });
  const page = fitting(entries, ({ view }) => jsonBytes(view));
  const more = fitted.length < found.length || page.length < entries.length;
  const listed = pageDirection === 'older' ? page : page.toReversed();

  const any = async (side: ConversationPageDirection, edge: ConversationPosition | undefined): Promise<boolean> =>
    edge !== undefined && (await store.positions(where.workspaceId, side, edge, 1)).length > 0;
  // Not those of the entries: conversations that were deleted meanwhile have a position only.
  const edges = [fitted.at(0), page.length < entries.length ? page.at(-1)?.position : fitted.at(-1)];
  const [first, last] = pageDirection === 'older' ? edges : edges.toReversed();
  const hasNext = pageDirection === 'older' ? more : await any('older', last);
  const hasPrev = pageDirection === 'newer' ? more : cursor !== undefined && (await any('newer', first));
  const at = (edge: ConversationPosition | undefined, side: ConversationPageDirection): string | null =>
    edge === undefined ? null : cursors.encode({ ...edge, pageDirection: side }, where);
  return {
    data: listed.map(({ view }) => view),
    pagination: {
      next_scroll_id: hasNext ? at(last, 'older') : null,
      prev_scroll_id: hasPrev ? at(first, 'newer') : null,
      has_next: hasNext,
      has_prev: hasPrev,
    },
  };
}

interface Entry {
  position: ConversationPosition;
  view: Conversation;
}
