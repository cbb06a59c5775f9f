import { ApiError, LIMITS, type MessagePage, type PageQuery } from '@uswarm/contract';
import { type BoundedRead, ReadTimeout } from '../../database/bounded-read.js';
import type { Database } from '../../database/database.js';
import type { ConversationStore } from '../conversations/conversations.store.js';
import type { RateLimits } from '../rate-limits/rate-limits.js';
import type { WorkspaceAccess } from '../workspaces/workspace-access.js';
import type { CursorCodec } from './cursor.js';
import { invalid } from './draft.js';
import type { Show } from './message-view.js';
import { type PageDeps, readPage } from './page.js';
import type { SearchSlots } from './search-slots.js';
import type { MessageSearchStore } from './search.store.js';

export type SearchQuery = Omit<PageQuery, 'direction'> & { q: string };

export interface SearchPlace {
  userId: string;
  workspaceId: string;
  conversationId: string;
}

export interface MessageSearchDeps {
  store: MessageSearchStore;
  conversations: Pick<ConversationStore, 'findTarget'>;
  access: WorkspaceAccess;
  rates: Pick<RateLimits, 'search'>;
  read: BoundedRead;
  slots: SearchSlots;
  /** Milliseconds that a search may wait for its turn, and may then take. */
  timeoutMs: number;
  cursors: CursorCodec;
  show: Show;
}

/**
 * Messages with every word of `q` somewhere in their text, the newest first. Letter case makes no difference.
 *
 * @throws ApiError `workspace_not_found`, `conversation_not_found`, `cursor_invalid`, `validation_failed`,
 *   `rate_limited`, `search_timeout`; the reason of the signal, once that is aborted
 */
export type MessageSearch = (place: SearchPlace, query: SearchQuery, signal: AbortSignal) => Promise<MessagePage>;

const RETRY_MS = 1_000;

export function createMessageSearch(deps: MessageSearchDeps): MessageSearch {
  const { store, conversations, access, rates, read, slots, timeoutMs, cursors, show } = deps;

  async function page(place: SearchPlace, { q, ...query }: SearchQuery, db: Database): Promise<MessagePage> {
    const { userId, conversationId } = place;
    await store.lockUser(userId, db);
    const words = await store.words(q, db);
    if (words.length === 0) throw invalid('q', 'must not be blank');
    if (words.length > LIMITS.searchWords)
      throw invalid('q', `must have at most ${LIMITS.searchWords} different words`);
    const found: PageDeps['store'] = {
      page: (id, walk, from, limit) => store.page(id, words, walk, from?.seq ?? null, limit, db),
      hasAny: async (id, walk, { seq }) => (await store.page(id, words, walk, seq, 1, db)).length > 0,
    };
    // The words as they are looked for: a cursor goes on where nothing else would be found.
    const where = { userId, conversationId, filter: words.join(' ') };
    return readPage({ store: found, cursors }, { ...query, direction: 'backward' }, where, show());
  }

  return async (place, query, signal) => {
    await rates.search(place.userId);
    const waiting = AbortSignal.timeout(timeoutMs);
    try {
      return await slots.run(place.userId, AbortSignal.any([signal, waiting]), async () => {
        await access.require(place.userId, place.workspaceId);
        const conversation = await conversations.findTarget(place.workspaceId, place.conversationId);
        if (conversation === undefined) throw new ApiError('conversation_not_found');
        return read({ timeoutMs, signal }, (db) => page(place, query, db));
      });
    } catch (error) {
      if (!(error instanceof ReadTimeout) && error !== waiting.reason) throw error;
      throw new ApiError('search_timeout', { cause: error, extra: { retry_after_ms: RETRY_MS } });
    }
  };
}
