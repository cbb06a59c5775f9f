import type { MessageData, MessagePage, PageQuery } from '@uswarm/contract';
import { fitting, jsonBytes, surelyFits } from '../platform/http/bounded-list.js';
import type { Cursor, CursorCodec, CursorScope } from '../records/cursor.js';
import { messageView, type MessageRow, type PageRow, type ViewContext } from './message-view.js';
import type { PageDirection, Position } from '../records/position.js';

/** Reads the messages of one conversation or agent, or search results. */
export interface MessageList {
  /** @param id a conversation or an agent */
  page(id: string, pageDirection: PageDirection, position: Position | null, limit: number): Promise<PageRow[]>;
  hasAny(id: string, pageDirection: PageDirection, position: Position): Promise<boolean>;
}

export interface PageDeps {
  messages: MessageList;
  cursors: CursorCodec;
}

/** A page, and the position of its workspace, which was read before it. */
export interface PositionedPage {
  page: MessagePage;
  /** Undefined if the workspace does not exist. */
  position: string | undefined;
}

export interface PageOptions {
  /** The start of the page if the query has no cursor: after a message in a direction, or around it. */
  start?: { row: MessageRow; pageDirection: PageDirection | 'around' } | undefined;
  /** Returns a cursor at the newest message too, so that the client can fetch later messages. */
  resumable?: boolean;
}

interface Viewed {
  row: MessageRow;
  view: MessageData;
}

/** Messages in the order of the page, and whether more exist on either side. */
interface Slice {
  rows: Viewed[];
  hasNext: boolean;
  hasPrev: boolean;
}

/** The number of messages found, including those omitted because of their size. */
const foundIn = (rows: readonly PageRow[]): number => rows[0]?.found ?? rows.length;

/** Estimated size of the rows in bytes. An unknown size counts as too large. */
const storedBytesOf = (rows: readonly PageRow[]): number =>
  rows.length === 0 ? 0 : (rows.at(-1)?.total_bytes ?? Number.POSITIVE_INFINITY);

/**
 * Reads one page in the requested direction: `backward` is newest first, `forward` oldest first. `next` continues in
 * that direction, `prev` in the opposite one; every page has the same order. A page that exceeds the response size
 * limit is shortened.
 */
export async function readPage(
  { messages, cursors }: PageDeps,
  query: PageQuery,
  where: Omit<CursorScope, 'direction'>,
  viewContext: ViewContext,
  { start, resumable = false }: PageOptions = {},
): Promise<MessagePage> {
  const { conversationId } = where;
  const scope: CursorScope = { ...where, direction: query.direction };
  const nextDirection: PageDirection = query.direction === 'backward' ? 'older' : 'newer';
  const prevDirection: PageDirection = nextDirection === 'older' ? 'newer' : 'older';

  const viewed = (row: MessageRow): Viewed => ({ row, view: messageView(row, viewContext) });
  const bytesOf = ({ view }: Viewed): number => jsonBytes(view);
  /** Serialises messages to measure them only if the stored size is near the limit. */
  const fittingRows = (rows: readonly PageRow[], storedBytes: number): Viewed[] => {
    const views = rows.map(viewed);
    return surelyFits(storedBytes) ? views : fitting(views, bytesOf);
  };

  /** The messages after a cursor, or from the start. */
  async function slice(from: Cursor | undefined): Promise<Slice> {
    const pageDirection = from?.pageDirection ?? nextDirection;
    const found = await messages.page(conversationId, pageDirection, from ?? null, query.limit + 1);
    const fitted = fittingRows(found.slice(0, query.limit), storedBytesOf(found));
    const more = fitted.length < foundIn(found);
    const rows = pageDirection === nextDirection ? fitted : fitted.toReversed();
    // The first message found is the next one after the start, so what is behind it is what is behind the start.
    const hasMore = async (one: Viewed | undefined, side: PageDirection): Promise<boolean> =>
      one !== undefined && (found[0]?.behind ?? (await messages.hasAny(conversationId, side, one.row)));
    return {
      rows,
      hasNext: pageDirection === nextDirection ? more : await hasMore(rows.at(-1), nextDirection),
      hasPrev:
        pageDirection === prevDirection ? more : from !== undefined && (await hasMore(rows.at(0), prevDirection)),
    };
  }

  /** A message with equally many on either side. If one side has too few, the other side has more. */
  async function sliceAround(row: MessageRow): Promise<Slice> {
    const others = query.limit - 1;
    const before = await messages.page(conversationId, prevDirection, row, query.limit);
    const after = await messages.page(conversationId, nextDirection, row, query.limit);
    const half = Math.floor(others / 2);
    const taken = Math.min(before.length, Math.max(half, others - after.length));
    const rest = Math.min(after.length, others - taken);
    // Orders from the middle outwards, so that an oversized page is cut on both sides.
    const outwards = Array.from({ length: Math.max(taken, rest) }, (_, n) => [
      ...after.slice(n, Math.min(n + 1, rest)),
      ...before.slice(n, Math.min(n + 1, taken)),
    ]).flat();
    const storedBytes = storedBytesOf(before) + storedBytesOf(after) + jsonBytes(row.content);
    const fits = new Map(fittingRows([row, ...outwards], storedBytes).map((one) => [one.row, one]));
    const kept = (side: readonly MessageRow[]): Viewed[] => side.flatMap((each) => fits.get(each) ?? []);
    const [earlier, later] = [kept(before), kept(after)];
    return {
      rows: [...earlier.toReversed(), ...kept([row]), ...later],
      hasPrev: earlier.length < foundIn(before),
      hasNext: later.length < foundIn(after),
    };
  }

  const cursor = query.scrollId === undefined ? undefined : cursors.decode(query.scrollId, scope);
  const at = ({ seq, before_seq }: MessageRow, pageDirection: PageDirection): Cursor => ({
    seq,
    before_seq,
    pageDirection,
  });
  const { rows, hasNext, hasPrev } =
    start === undefined || cursor !== undefined
      ? await slice(cursor)
      : start.pageDirection === 'around'
        ? await sliceAround(start.row)
        : await slice(at(start.row, start.pageDirection));

  const [first, last] = [rows.at(0)?.row, rows.at(-1)?.row];
  const hasPrevCursor = hasPrev || (resumable && prevDirection === 'newer');
  return {
    data: rows.map(({ view }) => view),
    pagination: {
      next_scroll_id: hasNext && last !== undefined ? cursors.encode(at(last, nextDirection), scope) : null,
      prev_scroll_id: hasPrevCursor && first !== undefined ? cursors.encode(at(first, prevDirection), scope) : null,
      has_next: hasNext,
      has_prev: hasPrev,
    },
  };
}
