import { ApiError, LIMITS, type PageQuery } from '@uswarm/contract';
import { ReadTimeout } from '../platform/database/bounded-read.js';
import type { Database } from '../platform/database/database.js';
import { allInOrder } from '../platform/database/pipelined.js';
import type { ReadRoutePosition } from '../platform/http/handlers.js';
import type { ReadAnywhere } from '../platform/database/standby-reads.js';
import { type RequestedConversation, requireConversation } from './require-conversation.js';
import type { RateLimits } from '../platform/rate-limits/rate-limits.js';
import type { CursorCodec } from '../records/cursor.js';
import { invalid } from '../records/draft.js';
import type { CreateViewContext } from './message-view.js';
import { type MessageList, type PositionedPage, readPage } from './page.js';
import type { SearchSlots } from './search-slots.js';
import { lockSearches, searchMessages } from './search.store.js';

export type SearchQuery = Omit<PageQuery, 'direction'> & { q: string };

export interface MessageSearchDeps {
  rates: Pick<RateLimits, 'search'>;
  slots: SearchSlots;
  /** The limit in milliseconds for waiting for a slot, and again for the query itself. */
  timeoutMs: number;
  cursors: CursorCodec;
  createViewContext: CreateViewContext;
}

/**
 * Finds messages whose text contains every word of `q`, newest first. Both are normalized by `search_fold`.
 *
 * @throws ApiError `workspace_not_found`, `conversation_not_found`, `cursor_invalid`, `validation_failed`,
 *   `rate_limited`, `search_timeout`; the abort reason if the signal aborts
 */
export type MessageSearch = (
  requested: RequestedConversation,
  query: SearchQuery,
  anywhere: ReadAnywhere,
  signal: AbortSignal,
) => Promise<PositionedPage>;

const RETRY_MS = 1_000;

export function createMessageSearch(deps: MessageSearchDeps): MessageSearch {
  const { rates, slots, timeoutMs, cursors, createViewContext } = deps;

  async function find(
    requested: RequestedConversation,
    { q, ...query }: SearchQuery,
    readPosition: ReadRoutePosition,
    db: Database,
  ): Promise<PositionedPage> {
    const { userId, conversationId } = requested;
    const [position, , words] = await allInOrder([
      readPosition(db),
      requireConversation(db, requested),
      lockSearches(db, userId, q),
    ]);
    if (words.length === 0) throw invalid('q', 'must not be blank');
    if (words.length > LIMITS.searchWords)
      throw invalid('q', `must have at most ${LIMITS.searchWords} different words`);
    const messages: MessageList = {
      page: (id, pageDirection, from, limit) => searchMessages(db, id, words, pageDirection, from?.seq ?? null, limit),
      hasAny: async (id, pageDirection, { seq }) =>
        (await searchMessages(db, id, words, pageDirection, seq, 1)).length > 0,
    };
    // The cursor is bound to the normalized words, so it stays valid for any query with the same results.
    const where = { userId, conversationId, filter: words.join(' ') };
    const pageOf = { ...query, direction: 'backward' as const };
    return { position, page: await readPage({ messages, cursors }, pageOf, where, createViewContext()) };
  }

  return async (requested, query, anywhere, signal) => {
    await rates.search(requested.userId);
    const waiting = AbortSignal.timeout(timeoutMs);
    try {
      return await slots.run(requested.userId, AbortSignal.any([signal, waiting]), () =>
        // Within, so that a second attempt on the primary does not count as another search.
        anywhere(({ boundedRead, readPosition }) =>
          boundedRead({ timeoutMs, signal }, (db) => find(requested, query, readPosition, db)),
        ),
      );
    } catch (error) {
      if (!(error instanceof ReadTimeout) && error !== waiting.reason) throw error;
      throw new ApiError('search_timeout', { cause: error, extra: { retry_after_ms: RETRY_MS } });
    }
  };
}
