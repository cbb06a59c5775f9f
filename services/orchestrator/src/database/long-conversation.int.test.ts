import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { createMigratedDatabase, type MigratedDatabase } from '../../test/database.js';
import { fillConversation, fillMessages, fillWorkspaces } from '../../test/fill.js';
import { rowsRead, sequentialScans } from '../../test/query-plans.js';
import { first } from '../../test/test-orchestrator.js';
import { createStores, type Stores } from '../../test/stores.js';

const MESSAGES = 50_000;
/** Of a conversation of 50,000, whatever is asked, and of a thousand others. */
const OTHERS = 1_000;
const FEW = 5_000;
const TOOL_LINE = { seq: 25_001, before_seq: 24_999 };

/** A message that is listed by its own seq. */
const ownPlace = (seq: number) => ({ seq, before_seq: null });

describe('in a conversation of 50,000 messages', () => {
  let db: MigratedDatabase;
  let place: { userId: string; workspaceId: string; conversationId: string; messageId: string };
  beforeAll(async () => {
    db = await createMigratedDatabase();
    const workspaces = await fillWorkspaces(db.database, OTHERS);
    await fillMessages(db.database, 20);
    const workspaceId = first(workspaces);
    const { rows } = await sql<typeof place>`
      SELECT w.owner_id AS "userId", w.id AS "workspaceId", c.id AS "conversationId"
      FROM workspaces w JOIN conversations c ON c.workspace_id = w.id WHERE w.id = ${workspaceId}`.execute(db.database);
    place = first(rows);
    await sql`DELETE FROM messages WHERE conversation_id = ${place.conversationId}`.execute(db.database);
    await fillConversation(db.database, place.conversationId, MESSAGES);
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
    ['the first page', ({ messages }) => messages.page(place.conversationId, 'older', null, 51)],
    ['the last page', ({ messages }) => messages.page(place.conversationId, 'newer', null, 51)],
    ['a page in the middle', ({ messages }) => messages.page(place.conversationId, 'older', ownPlace(25_000), 51)],
    ['a page beyond a tool line', ({ messages }) => messages.page(place.conversationId, 'older', TOOL_LINE, 51)],
    ['a page back', ({ messages }) => messages.page(place.conversationId, 'newer', ownPlace(25_000), 51)],
    ['whether there is more', ({ messages }) => messages.hasAny(place.conversationId, 'older', ownPlace(25_000))],
    [
      'the list of conversations',
      ({ conversations }) => conversations.places(place.workspaceId, 'older', undefined, null),
    ],
    ['the number of unread ones', ({ readPositions }) => readPositions.state(place.workspaceId, place.conversationId)],
    [
      'the seq by which a message was shown',
      ({ readPositions }) => readPositions.seqOf(place.conversationId, place.messageId),
    ],
    ['the list of workspaces', ({ workspaces }) => workspaces.listOwned(place.userId)],
    [
      'what a model is told',
      ({ turns }) =>
        turns.history(
          { conversation_id: place.conversationId, user_message_id: place.messageId, agent_id: place.userId },
          200,
        ),
    ],
    ['a common word', ({ messageSearch }) => messageSearch.page(place.conversationId, ['baboba'], 'older', null, 51)],
    ['a common part', ({ messageSearch }) => messageSearch.page(place.conversationId, ['ab'], 'older', null, 51)],
    ['a rare word', ({ messageSearch }) => messageSearch.page(place.conversationId, ['needle'], 'older', null, 51)],
    ['a rare part', ({ messageSearch }) => messageSearch.page(place.conversationId, ['yst'], 'older', null, 51)],
    [
      'two letters that are rare',
      ({ messageSearch }) => messageSearch.page(place.conversationId, ['ys'], 'older', null, 51),
    ],
    [
      'a rare word, forward',
      ({ messageSearch }) => messageSearch.page(place.conversationId, ['needle'], 'newer', null, 51),
    ],
    [
      'rare and common words',
      ({ messageSearch }) => messageSearch.page(place.conversationId, ['ab', 'needle'], 'older', null, 51),
    ],
    [
      'a word that nobody said',
      ({ messageSearch }) => messageSearch.page(place.conversationId, ['xyzzy'], 'older', null, 51),
    ],
    [
      'Chinese that nobody said',
      ({ messageSearch }) => messageSearch.page(place.conversationId, ['北京'], 'older', null, 51),
    ],
    [
      'an emoji that nobody sent',
      ({ messageSearch }) => messageSearch.page(place.conversationId, ['🎉'], 'older', null, 51),
    ],
  ])('%s takes a look at a few of them only', async (_what, use) => {
    const { most } = await rowsRead(db.database, (database) => use(createStores(database)));
    expect(most).toBeLessThan(FEW);
  });

  it('a page is read in the order of an index', async () => {
    for (const walk of ['older', 'newer'] as const) {
      const { indices, most } = await rowsRead(db.database, (database) =>
        createStores(database).messages.page(place.conversationId, walk, TOOL_LINE, 51),
      );
      expect(indices).toContain('messages_place');
      expect(most).toBeLessThan(100);
    }
  });

  it('what is rare is found by the index', async () => {
    const { indices } = await rowsRead(db.database, (database) =>
      createStores(database).messageSearch.page(place.conversationId, ['haystack'], 'older', null, 51),
    );
    expect(indices).toContain('messages_search');
  });

  it('the rare is found, all of it, and the newest of what is common', async () => {
    const { messageSearch } = createStores(db.database);
    const page = async (word: string) =>
      (await messageSearch.page(place.conversationId, [word], 'older', null, 51)).map(({ seq }) => seq);
    expect(await page('needle')).toEqual([50_000, 40_000, 30_000, 20_000, 10_000]);
    expect(await page('haystack')).toEqual([5]);
    expect(await page('ab')).toHaveLength(51);
  });

  it('a part of it is removed without reading the rest', async () => {
    const removal = (database: typeof db.database) =>
      createStores(database).messages.trimOldest(place.conversationId, 2_000, 500);
    expect(await sequentialScans(db.database, removal)).toEqual([]);
  });
});
