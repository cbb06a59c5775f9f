import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { createAgentStore } from '../features/agents/agents.store.js';
import { createConversationStore } from '../features/conversations/conversations.store.js';
import { createEventStore } from '../features/events/events.store.js';
import { createMessageStore } from '../features/messages/messages.store.js';
import { createRuntimeStore } from '../features/runtimes/runtimes.store.js';
import { createTurnStore } from '../features/turns/turns.store.js';
import { createUserStore } from '../features/users/users.store.js';
import { createWorkspaceStore } from '../features/workspaces/workspaces.store.js';
import { createMigratedDatabase, type MigratedDatabase } from '../../test/database.js';
import { fillMessages, fillTurns, fillWorkspaces } from '../../test/fill.js';
import { sequentialScans } from '../../test/query-plans.js';
import { createWorkStore } from '../work/work.store.js';
import type { Database } from './database.js';

const WORKSPACES = 3_000;
const MESSAGES = 10;

describe('hot statements read no large table from end to end', () => {
  let db: MigratedDatabase;
  let place: { userId: string; workspaceId: string; conversationId: string; messageId: string };
  beforeAll(async () => {
    db = await createMigratedDatabase();
    await fillWorkspaces(db.database, WORKSPACES);
    await fillMessages(db.database, MESSAGES);
    await fillTurns(db.database);
    // As in a running system: nearly all events are published.
    await sql`UPDATE workspace_events SET published_at = now() WHERE seq < ${MESSAGES} OR workspace_id::text LIKE '%1'`.execute(
      db.database,
    );
    await sql`VACUUM ANALYZE`.execute(db.database);
    const { rows } = await sql<typeof place>`
      SELECT w.owner_id AS "userId", w.id AS "workspaceId", m.conversation_id AS "conversationId", m.id AS "messageId"
      FROM messages m JOIN workspaces w ON w.id = m.workspace_id WHERE m.seq = 7 LIMIT 1`.execute(db.database);
    [place] = rows as [typeof place];
  });
  afterAll(() => db.close());

  const { append, takeUnpublished, markPublished } = createEventStore();

  it.each<[string, (database: Database) => Promise<unknown>]>([
    [
      'the user of an identity',
      (database) => createUserStore(database).find({ issuer: 'filled', subject: place.userId }),
    ],
    ['the workspaces of a user', (database) => createWorkspaceStore(database).listOwned(place.userId)],
    ['one workspace', (database) => createWorkspaceStore(database).findOwned(place.workspaceId, place.userId)],
    ['whose a workspace is', (database) => createWorkspaceStore(database).isOwnedBy(place.workspaceId, place.userId)],
    ['the agents of a workspace', (database) => createAgentStore(database).members(place.workspaceId)],
    ['the conversations of a workspace', (database) => createConversationStore(database).list(place.workspaceId)],
    ['one conversation', (database) => createConversationStore(database).find(place.workspaceId, place.conversationId)],
    [
      'the first page of messages',
      (database) => createMessageStore(database).page(place.conversationId, 'older', null, 50),
    ],
    [
      'an older page of messages',
      (database) => createMessageStore(database).page(place.conversationId, 'older', 8, 50),
    ],
    ['a newer page of messages', (database) => createMessageStore(database).page(place.conversationId, 'newer', 3, 50)],
    [
      'whether there are older messages',
      (database) => createMessageStore(database).hasAny(place.conversationId, 'older', 8),
    ],
    ['messages by id', (database) => createMessageStore(database).find([place.messageId])],
    [
      'a message by its local_id',
      (database) => createMessageStore(database).findSent(place.workspaceId, place.userId, 'l7'),
    ],
    ['the turns that wait', (database) => createTurnStore(database).countActive(place.conversationId, database)],
    [
      'the history of a turn',
      (database) =>
        createTurnStore(database).history(
          { conversation_id: place.conversationId, user_message_id: place.messageId },
          200,
        ),
    ],
    [
      'an event written',
      (database) =>
        append({ workspaceId: place.workspaceId, type: 'message.updated', subjectId: place.messageId }, database),
    ],
    ['events taken', (database) => takeUnpublished(50, 500, database)],
    [
      'events marked',
      (database) =>
        markPublished(
          [{ workspaceId: place.workspaceId, seq: 3, type: 'message.new', subjectId: place.messageId }],
          database,
        ),
    ],
    ['work claimed', (database) => createWorkStore(database).claim('turn', 32, 1)],
    ['the runtime of a workspace', (database) => createRuntimeStore(database).lock(place.workspaceId, database)],
    ['whether work waits', (database) => createWorkStore(database).waits('turn', place.workspaceId)],
    ['work hurried', (database) => createWorkStore(database).hurry('turn', place.workspaceId)],
  ])('%s', async (_what, use) => {
    expect(await sequentialScans(db.database, use)).toEqual([]);
  });

  it('a statement without an index is found out', async () => {
    const scans = await sequentialScans(db.database, (database) =>
      database.selectFrom('messages').select('id').where('status', '=', 'failed').execute(),
    );
    expect(scans).toEqual([expect.stringContaining('messages: select')]);
  });
});
