import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pageQuery } from '@uswarm/contract';
import { systemClock } from '@uswarm/service-kit';
import { sql } from 'kysely';
import { createMigratedDatabase, type MigratedDatabase } from '../../test/database.js';
import { insertAgentData, insertMessages, insertWorkspaces } from '../../test/bulk-data.js';
import { statementsOf } from '../../test/query-plans.js';
import { currentViewContext } from '../../test/view-context.js';
import type { Database, WithTransaction } from '../platform/database/database.js';
import { pipelined } from '../platform/database/pipelined.js';
import type { ReadSource } from '../platform/database/standby-reads.js';
import type { ReadRoutePosition } from '../platform/http/handlers.js';
import { createStores } from '../../test/stores.js';
import { createConversationCursors } from '../chat/conversation-cursor.js';
import { createConversationService } from '../chat/conversations.service.js';
import { createEventRenderer } from '../events/event-payloads.js';
import { createEventService } from '../events/events.service.js';
import { readHeads } from '../events/positions.store.js';
import { createCursorCodec } from '../records/cursor.js';
import { createMessageService } from '../chat/messages.service.js';
import { createMessageSearch } from '../chat/search.service.js';
import { createSearchSlots } from '../chat/search-slots.js';
import { createWorkspaceAccess } from './workspace-access.js';
import { createWorkspaceService } from './workspaces.service.js';
import { withoutAfterCommit } from '../../test/transaction.js';
import { createEpochs } from '../events/epoch.js';

/** A source that reads as the primary, in one transaction. */
const sourceOf = (database: Database, readPosition: ReadRoutePosition): ReadSource => ({
  database,
  async boundedRead(_bounds, run) {
    const [result] = await pipelined(database, (sender) => [run(sender)]);
    return result;
  },
  readPosition,
});
const noPosition = (database: Database): ReadSource => sourceOf(database, async () => undefined);
const never = (): never => {
  throw new Error('reading does not do that');
};

function services(database: Database) {
  const stores = createStores(database);
  const access = createWorkspaceAccess(database);
  const withTransaction: WithTransaction = (run) => run(withoutAfterCommit(database));
  const shared = { ...stores, database, withTransaction, access, createViewContext: currentViewContext };
  return {
    database,
    workspaces: createWorkspaceService({ database: stores.database, clock: systemClock }),
    conversations: createConversationService({
      ...shared,
      database: stores.database,
      idempotency: { once: never },
      conversationCursors: createConversationCursors('k'.repeat(32)),
      perWorkspace: 500,
    }),
    messages: createMessageService({
      ...shared,
      database: stores.database,
      send: never,
      cursors: createCursorCodec('k'.repeat(32)),
    }),
    search: createMessageSearch({
      ...shared,
      rates: { search: async () => undefined },
      slots: createSearchSlots(1),
      timeoutMs: 60_000,
      cursors: createCursorCodec('k'.repeat(32)),
    }),
    events: createEventService({
      ...shared,
      store: stores.events,
      database,
      epochs: createEpochs(),
      render: createEventRenderer({ ...stores, createViewContext: currentViewContext }),
    }),
  };
}

describe('the number of statements does not depend on the amount of data', () => {
  let db: MigratedDatabase;
  interface Context {
    userId: string;
    workspaceId: string;
    conversationId: string;
  }
  const contexts: Context[] = [];
  beforeAll(async () => {
    db = await createMigratedDatabase();
    // One user has an empty workspace; the other has forty workspaces full of conversations.
    const [empty] = await insertWorkspaces(db.database, 1);
    await insertWorkspaces(db.database, 40);
    await sql`
      UPDATE workspaces SET owner_id = (SELECT owner_id FROM workspaces WHERE id <> ${empty} LIMIT 1)
      WHERE id <> ${empty}`.execute(db.database);
    await insertMessages(db.database, 30);
    await sql`DELETE FROM messages WHERE workspace_id = ${empty}`.execute(db.database);
    await sql`DELETE FROM workspace_events WHERE workspace_id = ${empty}`.execute(db.database);
    await sql`UPDATE workspaces SET last_seq = 0 WHERE id = ${empty}`.execute(db.database);
    await insertAgentData(db.database, 3);
    const found = await sql<Context>`
      SELECT DISTINCT ON (w.id = ${empty}) w.owner_id AS "userId", w.id AS "workspaceId", c.id AS "conversationId"
      FROM workspaces w JOIN conversations c ON c.workspace_id = w.id`.execute(db.database);
    contexts.push(...found.rows);
  });
  afterAll(() => db.close());

  const query = pageQuery.parse({ limit: 10 });
  type Services = ReturnType<typeof services>;
  it.each<[string, number, (of: Services, context: Context) => Promise<unknown>]>([
    ['workspaces', 1, ({ workspaces }, { userId }) => workspaces.list(userId, null)],
    ['one workspace', 1, ({ workspaces }, { userId, workspaceId }) => workspaces.get(userId, workspaceId)],
    ['conversations', 3, ({ conversations }, { userId, workspaceId }) => conversations.list(userId, workspaceId, {})],
    [
      'one conversation',
      2,
      ({ conversations }, { userId, workspaceId, conversationId }) =>
        conversations.get(userId, workspaceId, conversationId),
    ],
    ['a page of messages', 2, ({ messages, database }, context) => messages.list(context, query, noPosition(database))],
  ])('is for %s: %i', async (_what, count, use) => {
    expect(contexts).toHaveLength(2);
    for (const context of contexts) {
      const statements = await statementsOf(db.database, (database) => use(services(database), context));
      expect(statements.map(({ sql: text }) => text.trim().slice(0, 80))).toHaveLength(count);
    }
  });

  it.each<[string, (of: Services, context: Context, source: ReadSource) => Promise<unknown>]>([
    ['a page of messages', ({ messages }, context, source) => messages.list(context, query, source)],
    [
      'a search',
      ({ search }, context, source) =>
        search(context, { q: 'hi', limit: 10 }, (read) => read(source), new AbortController().signal),
    ],
  ])('reads the position of %s before its messages', async (_what, use) => {
    const [context] = contexts;
    if (context === undefined) throw new Error('The database has no workspace.');
    const statements = await statementsOf(db.database, (database) => {
      const readPosition: ReadRoutePosition = async (connection = database) => {
        const { heads } = await readHeads(connection, createEpochs(), [context.workspaceId]);
        return String(heads[0]?.lastSeq);
      };
      return use(services(database), context, sourceOf(database, readPosition));
    });
    const [first, ...others] = statements.map(({ sql: text }) => text);
    expect(first).toContain('last_seq');
    expect(others.join()).toContain('FROM messages m');
  });

  it.each<[string, number, (of: Services, context: Context) => Promise<unknown>]>([
    [
      'a search',
      8,
      ({ search, database }, context) =>
        search(
          context,
          { q: 'hi there', limit: 10 },
          (read) => read(noPosition(database)),
          new AbortController().signal,
        ),
    ],
    ['events', 5, ({ events }, { userId, workspaceId }) => events.after(userId, workspaceId, '0')],
  ])('is for %s: at most %i', async (_what, most, use) => {
    for (const context of contexts) {
      const statements = await statementsOf(db.database, (database) => use(services(database), context));
      expect(statements.length).toBeLessThanOrEqual(most);
    }
  });
});
