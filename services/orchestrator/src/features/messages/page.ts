import type { MessagePage, PageQuery } from '@uswarm/contract';
import { fitting, jsonBytes } from '../../http/bounded-list.js';
import type { Cursor, CursorCodec, CursorScope } from './cursor.js';
import { listedMessageView, type MessageRow, type Showing } from './message-view.js';
import type { MessageStore } from './messages.store.js';

export interface PageDeps {
  store: Pick<MessageStore, 'page' | 'hasAny'>;
  cursors: CursorCodec;
}

/**
 * One page in the direction asked: `backward` newest first, `forward` oldest first. `next` goes on
 * that way, `prev` the other; a page reached by `prev` is in the same order as every other. A page that is too large for
 * one response ends earlier.
 */
export async function readPage(
  { store, cursors }: PageDeps,
  query: PageQuery,
  where: Omit<CursorScope, 'direction'>,
  showing: Showing,
): Promise<MessagePage> {
  const scope: CursorScope = { ...where, direction: query.direction };
  const along: Cursor['walk'] = query.direction === 'backward' ? 'older' : 'newer';
  const against: Cursor['walk'] = along === 'older' ? 'newer' : 'older';
  const cursor = query.scrollId === undefined ? undefined : cursors.decode(query.scrollId, scope);
  const walk = cursor?.walk ?? along;

  const found = await store.page(where.conversationId, walk, cursor ?? null, query.limit + 1);
  const views = found.slice(0, query.limit).map((row) => ({ row, view: listedMessageView(row, showing) }));
  const walked = fitting(views, ({ view }) => jsonBytes(view));
  const more = walked.length < (found[0]?.found ?? found.length);
  const rows = walk === along ? walked : walked.toReversed();

  const first = rows.at(0)?.row;
  const last = rows.at(-1)?.row;
  const beyond = (row: MessageRow | undefined, side: Cursor['walk']): Promise<boolean> =>
    row === undefined ? Promise.resolve(false) : store.hasAny(where.conversationId, side, row);
  const hasNext = walk === along ? more : await beyond(last, along);
  const hasPrev = walk === against ? more : cursor === undefined ? false : await beyond(first, against);

  const at = ({ seq, before_seq }: MessageRow, side: Cursor['walk']): string =>
    cursors.encode({ seq, before_seq, walk: side }, scope);
  return {
    data: rows.map(({ view }) => view),
    pagination: {
      next_scroll_id: hasNext && last !== undefined ? at(last, along) : null,
      prev_scroll_id: hasPrev && first !== undefined ? at(first, against) : null,
      has_next: hasNext,
      has_prev: hasPrev,
    },
  };
}
