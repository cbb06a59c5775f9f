import { describe, expect, it } from '@jest/globals';
import { currentViewContext } from '../../test/view-context.js';
import { createConversationCursors } from './conversation-cursor.js';
import { readConversations } from './conversation-page.js';
import { NO_TRANSACTION } from '../../test/transaction.js';

const WHERE = { userId: crypto.randomUUID(), workspaceId: crypto.randomUUID() };

describe('readConversations', () => {
  it('returns a cursor for the next page although all conversations of this page were deleted meanwhile', async () => {
    const cursors = createConversationCursors('k'.repeat(32));
    const positions = ['b', 'a'].map((digit) => ({
      id: crypto.randomUUID().replace(/^./, digit),
      activeAt: '2026-11-22T10:00:00.123456Z',
    }));
    const store = { listConversationPositions: async () => positions, findConversations: async () => [] };
    const deps = { database: NO_TRANSACTION, store, cursors };
    const { data, pagination } = await readConversations(deps, { limit: 1 }, WHERE, currentViewContext());
    expect({ data, hasNext: pagination.has_next }).toEqual({ data: [], hasNext: true });
    expect(cursors.decode(pagination.next_scroll_id ?? '', WHERE)).toMatchObject({ id: positions[0]?.id });
  });
});
