import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { createMigratedDatabase, type MigratedDatabase } from '../../../test/database.js';
import { insertLongConversation, insertMessages, insertWorkspaces } from '../../../test/bulk-data.js';
import { rowsRead, sequentialScans } from '../../../test/query-plans.js';
import { first } from '../../../test/test-orchestrator.js';
import { createStores, type Stores } from '../../../test/stores.js';
import { pageMessages, hasMessages, trimOldestMessages } from '../../records/messages.store.js';
import { listConversationPositions } from '../../chat/conversations.store.js';
import { findReadState, findReadSeq } from '../../chat/read-position.store.js';
import { listOwnedWorkspaces } from '../../workspaces/workspaces.store.js';
import { loadHistory } from '../../turns/turns.store.js';
import { searchMessages } from '../../chat/search.store.js';

const MESSAGES = 50_000;
/** Other workspaces, with short conversations. */
const OTHERS = 1_000;
/** Maximum rows that one plan node may read. */
const MAX_ROWS = 5_000;
const TOOL_LINE = { seq: 25_001, before_seq: 24_999 };

/** A message that is listed by its own seq has this position. */
const ownPlace = (seq: number) => ({ seq, before_seq: null });

describe('statements on a conversation of 50,000 messages', () => {
  let db: MigratedDatabase;
  let place: { userId: string; workspaceId: string; conversationId: string; messageId: string };
  beforeAll(async () => {
    db = await createMigratedDatabase();
    const workspaces = await insertWorkspaces(db.database, OTHERS);
    await insertMessages(db.database, 20);
    const workspaceId = first(workspaces);
    const { rows } = await sql<typeof place>`
      SELECT w.owner_id AS "userId", w.id AS "workspaceId", c.id AS "conversationId"
      FROM workspaces w JOIN conversations c ON c.workspace_id = w.id WHERE w.id = ${workspaceId}`.execute(db.database);
    place = first(rows);
    await sql`DELETE FROM messages WHERE conversation_id = ${place.conversationId}`.execute(db.database);
    await insertLongConversation(db.database, place.conversationId, MESSAGES);
    await sql`UPDATE conversations SET read_seq = ${MESSAGES - 100} WHERE id = ${place.conversationId}`.execute(
      db.database,
    );
    await sql`VACUUM ANALYZE`.execute(db.database);
    const middle = await sql<{ id: string }>`
      SELECT id FROM messages WHERE conversation_id = ${place.conversationId} AND seq = 30001`.execute(db.database);
    place.messageId = first(middle.rows).id;
  });
  afterAll(() => db.close());

  it.each<[string, (stores: Stores) => Promise<unknown>]>([
    ['the first page', ({ database }) => pageMessages(database, place.conversationId, 'older', null, 51)],
    ['the last page', ({ database }) => pageMessages(database, place.conversationId, 'newer', null, 51)],
    [
      'a page in the middle',
      ({ database }) => pageMessages(database, place.conversationId, 'older', ownPlace(25_000), 51),
    ],
    [
      'a page that starts at a tool line',
      ({ database }) => pageMessages(database, place.conversationId, 'older', TOOL_LINE, 51),
    ],
    ['a newer page', ({ database }) => pageMessages(database, place.conversationId, 'newer', ownPlace(25_000), 51)],
    [
      'the check for older messages',
      ({ database }) => hasMessages(database, place.conversationId, 'older', ownPlace(25_000)),
    ],
    [
      'the list of conversations',
      ({ database }) => listConversationPositions(database, place.workspaceId, 'older', undefined, null),
    ],
    [
      'the number of unread messages',
      ({ database }) => findReadState(database, place.workspaceId, place.conversationId),
    ],
    [
      'the seq at which a message was shown',
      ({ database }) => findReadSeq(database, place.conversationId, place.messageId),
    ],
    ['the list of workspaces', ({ database }) => listOwnedWorkspaces(database, place.userId)],
    [
      'the history for a model',
      ({ database }) =>
        loadHistory(
          database,
          { conversation_id: place.conversationId, user_message_id: place.messageId, agent_id: place.userId },
          200,
        ),
    ],
    [
      'the search for a common word',
      ({ database }) => searchMessages(database, place.conversationId, ['baboba'], 'older', null, 51),
    ],
    [
      'the search for a common part',
      ({ database }) => searchMessages(database, place.conversationId, ['ab'], 'older', null, 51),
    ],
    [
      'the search for a rare word',
      ({ database }) => searchMessages(database, place.conversationId, ['needle'], 'older', null, 51),
    ],
    [
      'the search for a rare part',
      ({ database }) => searchMessages(database, place.conversationId, ['yst'], 'older', null, 51),
    ],
    [
      'the search for two rare letters',
      ({ database }) => searchMessages(database, place.conversationId, ['ys'], 'older', null, 51),
    ],
    [
      'the forward search for a rare word',
      ({ database }) => searchMessages(database, place.conversationId, ['needle'], 'newer', null, 51),
    ],
    [
      'the search for a rare and a common word',
      ({ database }) => searchMessages(database, place.conversationId, ['ab', 'needle'], 'older', null, 51),
    ],
    [
      'the search for a missing word',
      ({ database }) => searchMessages(database, place.conversationId, ['xyzzy'], 'older', null, 51),
    ],
    [
      'the search for missing Chinese text',
      ({ database }) => searchMessages(database, place.conversationId, ['北京'], 'older', null, 51),
    ],
    [
      'the search for a missing emoji',
      ({ database }) => searchMessages(database, place.conversationId, ['🎉'], 'older', null, 51),
    ],
  ])('%s reads only a few rows', async (_what, use) => {
    const { most } = await rowsRead(db.database, (database) => use(createStores(database)));
    expect(most).toBeLessThan(MAX_ROWS);
  });

  it('a page uses the index messages_place in both directions', async () => {
    for (const walk of ['older', 'newer'] as const) {
      const { indices, most } = await rowsRead(db.database, (database) =>
        pageMessages(createStores(database).database, place.conversationId, walk, TOOL_LINE, 51),
      );
      expect(indices).toContain('messages_place');
      expect(most).toBeLessThan(100);
    }
  });

  it('the search for a rare word uses the index messages_search', async () => {
    const { indices } = await rowsRead(db.database, (database) =>
      searchMessages(createStores(database).database, place.conversationId, ['haystack'], 'older', null, 51),
    );
    expect(indices).toContain('messages_search');
  });

  it('the search returns all messages with a rare word and the newest ones with a common word', async () => {
    const { database } = createStores(db.database);
    const page = async (word: string) =>
      (await searchMessages(database, place.conversationId, [word], 'older', null, 51)).map(({ seq }) => seq);
    expect(await page('needle')).toEqual([50_000, 40_000, 30_000, 20_000, 10_000]);
    expect(await page('haystack')).toEqual([5]);
    expect(await page('ab')).toHaveLength(51);
  });

  it('trimOldest deletes a part of the conversation without a sequential scan', async () => {
    const removal = (database: typeof db.database) =>
      trimOldestMessages(createStores(database).database, place.conversationId, 2_000, 500);
    expect(await sequentialScans(db.database, removal)).toEqual([]);
  });
});
