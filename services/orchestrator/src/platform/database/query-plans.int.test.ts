import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { createAgentHistoryStore } from '../../workspaces/agents/agent-history.store.js';
import { createApprovalStore } from '../../records/approvals.store.js';
import { createArtifactStore } from '../../workspaces/artifacts/artifacts.store.js';
import { createAuditStore } from '../../records/audit.store.js';
import { createSessionStore } from '../../accounts/auth/sessions.store.js';
import { createOpenCardStore } from '../../chat/open-cards.store.js';
import { createConversationStore } from '../../chat/conversations.store.js';
import { createDeviceStore } from '../../accounts/devices/devices.store.js';
import { createMessageSearchStore } from '../../chat/search.store.js';
import { createMessageStore } from '../../records/messages.store.js';
import { createSendContextStore } from '../../chat/send-context.store.js';
import { insertUnlocked } from '../../chat/user-messages.store.js';
import { createPushJobs } from '../../records/push-jobs.js';
import { createPushStore } from '../../accounts/push/push.store.js';
import { createReceiptStore } from '../../turns/receipts/receipts.store.js';
import { createRuntimeStore } from '../../records/runtimes.store.js';
import { createStepStore } from '../../turns/steps/steps.store.js';
import { createJournalStore } from '../../turns/journal/journal.store.js';
import { createTurnStore } from '../../turns/turns.store.js';
import { createUserStore } from '../../records/users.store.js';
import { createWorkspaceStore } from '../../workspaces/workspaces.store.js';
import { agentStatements } from '../../../test/agent-statements.js';
import { eventStatements } from '../../../test/event-statements.js';
import { createMigratedDatabase, type MigratedDatabase } from '../../../test/database.js';
import {
  insertAgentData,
  insertMessages,
  insertTasks,
  insertUserData,
  insertTurns,
  insertWorkspaces,
} from '../../../test/bulk-data.js';
import { sequentialScans } from '../../../test/query-plans.js';
import { USAGE_STATEMENTS } from '../../../test/usage-statements.js';
import { createBacklogStore } from '../../server/backlog.store.js';
import { createJobStore } from '../jobs/job-store.js';
import { createOutboxStore } from '../../events/outbox/outbox.store.js';
import type { Database, Transaction } from './database.js';
import { createWithTransaction } from './transaction.js';

const WORKSPACES = 3_000;
const MESSAGES = 10;

type Statement = [string, (database: Database) => Promise<unknown>];

/** A message that is listed by its own seq has this position. */
const ownPlace = (seq: number) => ({ seq, before_seq: null });

describe('frequent statements without a sequential scan of a large table', () => {
  let db: MigratedDatabase;
  let place: { userId: string; workspaceId: string; agentId: string; conversationId: string; messageId: string };
  beforeAll(async () => {
    db = await createMigratedDatabase();
    await insertWorkspaces(db.database, WORKSPACES);
    await insertMessages(db.database, MESSAGES);
    await insertTurns(db.database);
    await insertTasks(db.database);
    await insertUserData(db.database);
    await insertAgentData(db.database, 2);
    // As in production, nearly all events are published.
    await sql`DELETE FROM event_outbox WHERE workspace_id::text NOT LIKE '%1'`.execute(db.database);
    await sql`
      INSERT INTO spent_local_ids (workspace_id, sender_id, local_id_hash)
      SELECT workspace_id, id, sha256(convert_to(id::text, 'UTF8')) FROM messages`.execute(db.database);
    await sql`VACUUM ANALYZE`.execute(db.database);
    const { rows } = await sql<typeof place>`
      SELECT w.owner_id AS "userId", w.id AS "workspaceId", a.id AS "agentId", m.conversation_id AS "conversationId",
        m.id AS "messageId"
      FROM messages m JOIN workspaces w ON w.id = m.workspace_id
      JOIN agents a ON a.workspace_id = w.id AND a.sort_order = 1 WHERE m.seq = 7 LIMIT 1`.execute(db.database);
    [place] = rows as [typeof place];
  });
  afterAll(() => db.close());

  it.each<Statement>([
    ...agentStatements(() => place),
    ...eventStatements(() => place),
    [
      'the turns before a message, and their calls',
      async (database) => {
        const journal = createJournalStore(database);
        const { turnIds } = await journal.recent(place.messageId, { turns: 3, calls: 24 });
        return journal.calls(turnIds, 24);
      },
    ],
    [
      'the place of an entry in its journal',
      (database) =>
        createJournalStore(database).judge({ turnId: place.messageId, generation: 1, number: 1, size: 1 }, database),
    ],
    ['the entries to prune', (database) => createJournalStore(database).prune(new Date(0), 5_000)],
    ['the entry of an object', (database) => createJournalStore(database).hasObject(place.messageId, database)],
    [
      'the user of an identity',
      (database) => createUserStore(database).find({ issuer: 'filled', subject: place.userId }),
    ],
    [
      'the session of a token',
      (database) =>
        createSessionStore(database).look({ issuer: 'filled', subject: place.userId, issuedAt: new Date() }, [
          Buffer.alloc(32),
          Buffer.alloc(32, 1),
        ]),
    ],
    [
      'the revocation of a token',
      (database) => createSessionStore(database).revoke([Buffer.alloc(32, 1)], new Date(), database),
    ],
    [
      'the check for ended sessions',
      (database) => createSessionStore(database).ended([{ user_id: place.userId, token_hash: 'ab'.repeat(32) }]),
    ],
    [
      'the record of a device',
      (database) =>
        createDeviceStore(database).record(place.userId, { id: 'd', info: '', version: '', timezone: '' }, 20),
    ],
    [
      'the deletion of a push token',
      (database) => createDeviceStore(database).dropPushToken(place.userId, 'phone', database),
    ],
    [
      'the shown notifications of a conversation that was read',
      (database) =>
        createPushJobs({ enqueue: async () => undefined }, 0).withdraw(
          { conversationId: place.conversationId, userId: place.userId },
          database as Transaction,
        ),
    ],
    [
      'the notifications to withdraw',
      (database) => createPushStore(database, createWithTransaction(database)).outdated(place.conversationId),
    ],
    [
      'the badge of a user',
      (database) => createPushStore(database, createWithTransaction(database)).badge(place.userId),
    ],
    ...USAGE_STATEMENTS.map((statement): Statement => [statement.name, (database) => statement.run(database, place)]),
    ['the audit log of a user', (database) => createAuditStore(database).list(50, place.userId)],
    ['the workspaces of a user', (database) => createWorkspaceStore(database).listOwned(place.userId)],
    ['one workspace', (database) => createWorkspaceStore(database).findOwned(place.workspaceId, place.userId)],
    [
      'the owner of a workspace',
      (database) => createWorkspaceStore(database).isOwnedBy(place.workspaceId, place.userId),
    ],
    ['runtimes by workspace', (database) => createRuntimeStore(database).list([place.workspaceId])],
    ['a page of runtimes', (database) => createRuntimeStore(database).page(place.workspaceId, 100)],
    ['jobs made due for runtimes', (database) => createJobStore(database).ensureDue('runtime', [place.workspaceId], 0)],
    ['a page of artifacts', (database) => createArtifactStore(database).list(place.workspaceId, 50)],
    [
      'a later page of artifacts',
      (database) =>
        createArtifactStore(database).list(place.workspaceId, 50, {
          time: new Date().toISOString(),
          key: place.agentId,
        }),
    ],
    [
      'an artifact with its versions',
      async (database) => {
        await createArtifactStore(database).find(place.workspaceId, place.agentId);
        await createArtifactStore(database).versions(place.agentId);
      },
    ],
    [
      'the search for an object of artifacts',
      (database) => createArtifactStore(database).hasObject(place.agentId, database),
    ],
    [
      'the approvals of calls',
      async (database) => {
        const approvals = createApprovalStore();
        await approvals.find(place.workspaceId, 'c', database);
        await approvals.lock(place.messageId, database);
        await approvals.allOpen(place.workspaceId, ['c'], database);
        await approvals.supersedeOf({ turnIds: [place.messageId], messageIds: [place.messageId] }, database);
        await approvals.isApprovalCard(place.messageId, database);
        await approvals.supersede(place.conversationId, database);
        await approvals.nextExpired(database);
        await approvals.expire(place.messageId, database);
      },
    ],
    [
      'receipts',
      async (database) => {
        const receipts = createReceiptStore(database);
        const position = { time: new Date().toISOString(), key: place.agentId };
        await receipts.count(place.workspaceId, database);
        await receipts.ofConversation(place.conversationId, 10);
        await receipts.sentSince({ id: place.messageId, agentId: place.messageId, messageId: place.messageId });
        await receipts.list(place.userId, { limit: 50 });
        await receipts.list(place.userId, { workspaceId: place.workspaceId, limit: 50, after: position });
        await receipts.get(place.userId, place.messageId);
        await receipts.find(place.messageId, 'c', database);
        await receipts.sentOf(place.messageId, database);
        await receipts.left(20, place.messageId);
        await receipts.finishLeft(place.messageId, { status: 'unknown', outcome: '' }, database);
        await receipts.lockUnsigned(100, database);
      },
    ],
    [
      'the steps of a turn',
      async (database) => {
        const steps = createStepStore(database);
        const found = await steps.find(place.userId, place.conversationId, place.messageId);
        const [chain = found] = await steps.chains(place.conversationId, undefined, 1);
        await steps.records(chain);
        await steps.entries([place.messageId], 0, 16);
        await steps.turnIds(place.messageId);
      },
    ],
    [
      'the cards that wait for a user',
      async (database) => {
        const cards = createOpenCardStore(database);
        await cards.page(place.userId, 50);
        await cards.page(place.userId, 50, { time: new Date().toISOString(), key: place.messageId });
      },
    ],
    ['the history of an agent', (database) => createAgentHistoryStore(database).page(place.agentId, 'older', null, 50)],
    [
      'an older page of the history',
      (database) => createAgentHistoryStore(database).page(place.agentId, 'older', ownPlace(1_002), 50),
    ],
    [
      'a newer page of the history',
      (database) => createAgentHistoryStore(database).page(place.agentId, 'newer', ownPlace(1_001), 50),
    ],
    [
      'the check for more history',
      (database) => createAgentHistoryStore(database).hasAny(place.agentId, 'newer', ownPlace(1_001)),
    ],
    [
      'the conversations of a workspace',
      (database) => createConversationStore(database).positions(place.workspaceId, 'older', undefined, null),
    ],
    ['one conversation', (database) => createConversationStore(database).find(place.workspaceId, place.conversationId)],
    [
      'the first page of messages',
      (database) => createMessageStore(database).page(place.conversationId, 'older', null, 50),
    ],
    [
      'the access to a conversation',
      (database) => createConversationStore(database).findAccess(place.userId, place.workspaceId, place.conversationId),
    ],
    [
      'an older page of messages',
      (database) => createMessageStore(database).page(place.conversationId, 'older', ownPlace(8), 50),
    ],
    [
      'a newer page of messages',
      (database) => createMessageStore(database).page(place.conversationId, 'newer', ownPlace(3), 50),
    ],
    [
      'the check for older messages',
      (database) => createMessageStore(database).hasAny(place.conversationId, 'older', ownPlace(8)),
    ],
    ['messages by id', (database) => createMessageStore(database).find([place.messageId])],
    [
      'the storing of a group of messages',
      (database) => {
        const message = { ...place, agentIds: [place.agentId], text: 'hi', localId: 'l7' };
        // Past the deadline: the statement is explained again, and must not insert the message twice.
        return insertUnlocked([{ message, deadline: new Date(0) }], database);
      },
    ],
    [
      'the context of a message to send',
      (database) => createSendContextStore(database).find([{ ...place, localId: 'l7' }], '2026-01'),
    ],
    ['what a turn has left unfinished', (database) => createTurnStore(database).unfinished(place.messageId, database)],
    [
      'the insertion of a turn into a full queue',
      (database) =>
        createTurnStore(database).insert(
          { id: place.messageId, ...place, userMessageId: place.messageId },
          0,
          database,
        ),
    ],
    [
      'the history of a turn',
      (database) =>
        createTurnStore(database).history(
          { conversation_id: place.conversationId, user_message_id: place.messageId, agent_id: place.agentId },
          200,
        ),
    ],
    [
      'the read of waiting events',
      (database) => createOutboxStore(database).due([1, 33], { workspaces: 20, events: 50 }),
    ],
    [
      'the advance of the outbox',
      (database) =>
        createOutboxStore(database).advance([
          { workspaceId: place.workspaceId, fromSeq: 1, uptoSeq: MESSAGES, at: new Date() },
        ]),
    ],
    ['the claim of jobs', (database) => createJobStore(database).claim('turn', 32, 1)],
    [
      'the backfill of the search',
      (database) => createMessageSearchStore(database).foldAgain(place.messageId, database),
    ],
    ['the runtime of a workspace', (database) => createRuntimeStore(database).lock(place.workspaceId, database)],
    ['the check for jobs of a workspace', (database) => createJobStore(database).waits('turn', place.workspaceId)],
    ['jobs made due now', (database) => createJobStore(database).makeDueNow('turn', place.workspaceId)],
  ])('%s uses an index', async (_what, use) => {
    expect(await sequentialScans(db.database, use)).toEqual([]);
  });

  it('the fair claim of jobs uses an index', async () => {
    // EXPLAIN does not show statements inside a function.
    const scans = await db.database.transaction().execute(async (tx) => {
      await createJobStore(tx).claimFairly('turn', 32, 1, 4);
      const { rows } = await sql<{ seq: number; index: number }>`
        SELECT seq_scan::int AS seq, idx_scan::int AS index FROM pg_stat_xact_user_tables WHERE relname = 'work'`.execute(
        tx,
      );
      return rows[0];
    });
    expect(scans?.seq).toBe(0);
    expect(scans?.index).toBeGreaterThan(0);
  });

  it('sequentialScans reports a statement without an index', async () => {
    const scans = await sequentialScans(db.database, (database) =>
      database.selectFrom('messages').select('id').where('status', '=', 'failed').execute(),
    );
    expect(scans).toEqual([expect.stringContaining('messages: select')]);
  });

  it('the backlog metrics scan only the tables of runtimes and of the outbox, which is small', async () => {
    // As in production, the backlog is small. This test must be the last one, because it deletes the backlog.
    await sql`TRUNCATE event_outbox`.execute(db.database);
    await sql`DELETE FROM work WHERE kind = 'turn' AND workspace_id NOT IN (SELECT id FROM workspaces LIMIT 10)`.execute(
      db.database,
    );
    await sql`UPDATE work SET run_at = now() + interval '1 hour' WHERE kind = 'runtime'`.execute(db.database);
    await sql`VACUUM ANALYZE`.execute(db.database);
    const scans = await sequentialScans(db.database, (database) =>
      createBacklogStore(database).read(['turn', 'runtime', 'upload']),
    );
    expect(scans).toEqual([
      expect.stringContaining('event_outbox: SELECT'),
      expect.stringContaining('runtimes: SELECT phase'),
    ]);
  });
});
