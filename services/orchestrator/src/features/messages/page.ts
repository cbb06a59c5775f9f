import type { ListedMessage, MessagePage, PageQuery } from '@uswarm/contract';
import { fitting, jsonBytes, surelyFits } from '../../http/bounded-list.js';
import type { Cursor, CursorCodec, CursorScope } from './cursor.js';
import { listedMessageView, type MessageRow, type PageRow, type ViewContext } from './message-view.js';
import type { MessageStore } from './messages.store.js';
import type { PageDirection } from './place.js';

export interface PageDeps {
  store: Pick<MessageStore, 'page' | 'hasAny'>;
  cursors: CursorCodec;
}

export interface PageOptions {
  /** Where the page begins if the query has no cursor: beyond a message in a direction, or around it. */
  start?: { row: MessageRow; walk: PageDirection | 'around' } | undefined;
  /** Gives a cursor also at the newest message, for those that come later. */
  resumable?: boolean;
}

interface Viewed {
  row: MessageRow;
  view: ListedMessage;
}

/** Messages in the order of the page, and whether there are others on either side. */
interface Slice {
  rows: Viewed[];
  hasNext: boolean;
  hasPrev: boolean;
}

/** How many the store found, those included that it left out for their size. */
const foundIn = (rows: readonly PageRow[]): number => rows[0]?.found ?? rows.length;

/** About how many bytes the rows take; unknown sizes count as too large. */
const storedBytesOf = (rows: readonly PageRow[]): number =>
  rows.length === 0 ? 0 : (rows.at(-1)?.total_bytes ?? Number.POSITIVE_INFINITY);

/**
 * One page in the direction asked: `backward` newest first, `forward` oldest first. `next` goes on
 * that way, `prev` the other; a page reached by `prev` is in the same order as every other. A page that is too large for
 * one response ends earlier.
 */
export async function readPage(
  { store, cursors }: PageDeps,
  query: PageQuery,
  where: Omit<CursorScope, 'direction'>,
  showing: ViewContext,
  { start, resumable = false }: PageOptions = {},
): Promise<MessagePage> {
  const { conversationId } = where;
  const scope: CursorScope = { ...where, direction: query.direction };
  const along: PageDirection = query.direction === 'backward' ? 'older' : 'newer';
  const against: PageDirection = along === 'older' ? 'newer' : 'older';

  const viewed = (row: MessageRow): Viewed => ({ row, view: listedMessageView(row, showing) });
  const bytesOf = ({ view }: Viewed): number => jsonBytes(view);
  /** Serialises each message to learn its size only if the stored size leaves a doubt. */
  const fittingRows = (rows: readonly PageRow[], storedBytes: number): Viewed[] => {
    const views = rows.map(viewed);
    return surelyFits(storedBytes) ? views : fitting(views, bytesOf);
  };

  /** What comes beyond a place, or from the beginning. */
  async function slice(from: Cursor | undefined): Promise<Slice> {
    const walk = from?.walk ?? along;
    const found = await store.page(conversationId, walk, from ?? null, query.limit + 1);
    const walked = fittingRows(found.slice(0, query.limit), storedBytesOf(found));
    const more = walked.length < foundIn(found);
    const rows = walk === along ? walked : walked.toReversed();
    const beyond = async (one: Viewed | undefined, side: PageDirection): Promise<boolean> =>
      one !== undefined && (await store.hasAny(conversationId, side, one.row));
    return {
      rows,
      hasNext: walk === along ? more : await beyond(rows.at(-1), along),
      hasPrev: walk === against ? more : from !== undefined && (await beyond(rows.at(0), against)),
    };
  }

  /** A message with as many on either side; where one side is short, the other has more. */
  async function sliceAround(row: MessageRow): Promise<Slice> {
    const others = query.limit - 1;
    const before = await store.page(conversationId, against, row, query.limit);
    const after = await store.page(conversationId, along, row, query.limit);
    const half = Math.floor(others / 2);
    const taken = Math.min(before.length, Math.max(half, others - after.length));
    const rest = Math.min(after.length, others - taken);
    // From the middle outwards, so that a page that is too large is cut on both sides.
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
  const at = ({ seq, before_seq }: MessageRow, walk: PageDirection): Cursor => ({ seq, before_seq, walk });
  const { rows, hasNext, hasPrev } =
    start === undefined || cursor !== undefined
      ? await slice(cursor)
      : start.walk === 'around'
        ? await sliceAround(start.row)
        : await slice(at(start.row, start.walk));

  const [first, last] = [rows.at(0)?.row, rows.at(-1)?.row];
  const goesOn = hasPrev || (resumable && against === 'newer');
  return {
    data: rows.map(({ view }) => view),
    pagination: {
      next_scroll_id: hasNext && last !== undefined ? cursors.encode(at(last, along), scope) : null,
      prev_scroll_id: goesOn && first !== undefined ? cursors.encode(at(first, against), scope) : null,
      has_next: hasNext,
      has_prev: hasPrev,
    },
  };
}
