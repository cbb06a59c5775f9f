import type { Conversation, ConversationPage } from '@uswarm/contract';
import { fitting, jsonBytes } from '../../http/bounded-list.js';
import type { ViewContext } from '../messages/message-view.js';
import { FIELD_BYTES } from '../messages/stored-bytes.js';
import type { ConversationCursorCodec, ConversationWalk } from './conversation-cursor.js';
import { conversationView } from './conversation-view.js';
import type { ConversationPlace, ConversationStore } from './conversations.store.js';

export interface ConversationPageDeps {
  store: Pick<ConversationStore, 'places' | 'findAll'>;
  cursors: ConversationCursorCodec;
}

export interface ConversationQuery {
  /** Undefined: all, as far as they fit into one response. */
  limit?: number | undefined;
  scrollId?: string | undefined;
}

/** The most recently active conversations first. A page that is too large for one response ends earlier. */
export async function readConversations(
  { store, cursors }: ConversationPageDeps,
  { limit, scrollId }: ConversationQuery,
  where: { userId: string; workspaceId: string },
  showing: ViewContext,
): Promise<ConversationPage> {
  const cursor = scrollId === undefined ? undefined : cursors.decode(scrollId, where);
  const walk = cursor?.walk ?? 'older';
  const found = await store.places(where.workspaceId, walk, cursor, limit === undefined ? null : limit + 1);
  const near = fitting(found.slice(0, limit), ({ bytes }) => bytes + FIELD_BYTES);
  const rows = await store.findAll(near.map(({ id }) => id));
  const views = new Map(rows.map((row) => [row.own_id, conversationView(row, showing)]));
  const shown = near.flatMap((place): Shown[] => {
    const view = views.get(place.id);
    return view === undefined ? [] : [{ place, view }];
  });
  const page = fitting(shown, ({ view }) => jsonBytes(view));
  const more = near.length < found.length || page.length < shown.length;
  const listed = walk === 'older' ? page : page.toReversed();

  const any = async (side: ConversationWalk, edge: Shown | undefined): Promise<boolean> =>
    edge !== undefined && (await store.places(where.workspaceId, side, edge.place, 1)).length > 0;
  const [first, last] = [listed.at(0), listed.at(-1)];
  const hasNext = walk === 'older' ? more : await any('older', last);
  const hasPrev = walk === 'newer' ? more : cursor !== undefined && (await any('newer', first));
  const at = (edge: Shown | undefined, side: ConversationWalk): string | null =>
    edge === undefined ? null : cursors.encode({ ...edge.place, walk: side }, where);
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

interface Shown {
  place: ConversationPlace;
  view: Conversation;
}
