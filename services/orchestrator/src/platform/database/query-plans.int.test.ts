import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { pageAgentHistory, hasAgentHistory } from '../../workspaces/agents/agent-history.store.js';
import {
  findApproval,
  lockApproval,
  areApprovalsOpen,
  supersedeApprovalsOf,
  isApprovalCard,
  supersedeApprovals,
  findExpiredApproval,
  expireApproval,
} from '../../records/approvals.store.js';
import {
  listArtifacts,
  findArtifact,
  listArtifactVersions,
  hasArtifactObject,
} from '../../workspaces/artifacts/artifacts.store.js';
import { listAudit } from '../../records/audit.store.js';
import {
  countApiTokens,
  deleteApiToken,
  deleteExpiredApiTokens,
  findPresentedToken,
  listApiTokens,
  recordApiTokenUse,
} from '../../accounts/auth/api-tokens.store.js';
import { isTokenRevoked, lookUpCaller, revokeToken, findEndedSessions } from '../../accounts/auth/sessions.store.js';
import { listOpenCards } from '../../chat/open-cards.store.js';
import { listConversationPositions, findConversation, findConversationAccess } from '../../chat/conversations.store.js';
import { recordDevice, forgetPushToken } from '../../accounts/devices/devices.store.js';
import { foldMessagesAgain } from '../../chat/search.store.js';
import { pageMessages, hasMessages, findMessages } from '../../records/messages.store.js';
import { findSendContexts } from '../../chat/send-context.store.js';
import { insertUnlocked } from '../../chat/user-messages.store.js';
import { createPushJobs } from '../../records/push-jobs.js';
import { findOutdatedNotifications, countBadge } from '../../accounts/push/push.store.js';
import {
  countReceipts,
  findCallsOfConversation,
  hasSentSince,
  listReceipts,
  getReceipt,
  findReceipt,
  findSentCalls,
  findLeftReceipts,
  finishLeftReceipt,
  lockUnsignedReceipts,
} from '../../turns/receipts/receipts.store.js';
import { listRuntimes, pageRuntimes, lockRuntime } from '../../records/runtimes.store.js';
import {
  findTurnChain,
  listTurnChains,
  findStepRecords,
  listTimedEntries,
  findTurnIdsOfChain,
} from '../../turns/steps/steps.store.js';
import {
  findRecentTurns,
  listCalls,
  judgeEntry,
  pruneJournals,
  hasJournalObject,
} from '../../turns/journal/journal.store.js';
import { findConcernedTurns, findNewestMerged } from '../../records/message-changes.store.js';
import { readSteering } from '../../turns/request/history.store.js';
import { findTurnsOfMessage, loadHistory } from '../../turns/turns.store.js';
import { countAnswerTokens } from '../../doors/answer-usage.store.js';
import { findUser } from '../../records/users.store.js';
import { conversationFiles, newestFiles } from '../../workspaces/files/conversation-files.js';
import { listOwnedWorkspaces, findOwnedWorkspace, isWorkspaceOwnedBy } from '../../workspaces/workspaces.store.js';
import { agentStatements } from '../../../test/agent-statements.js';
import { eventStatements } from '../../../test/event-statements.js';
import { createMigratedDatabase, type MigratedDatabase } from '../../../test/database.js';
import {
  insertAgentData,
  insertFiles,
  insertMessages,
  insertTasks,
  insertUserData,
  insertTurns,
  insertWorkspaces,
} from '../../../test/bulk-data.js';
import { sequentialScans } from '../../../test/query-plans.js';
import { USAGE_STATEMENTS } from '../../../test/usage-statements.js';
import { readBacklog } from '../../server/backlog.store.js';
import { createJobQueue } from '../jobs/job-queue.js';
import { findDueEvents, advanceOutbox } from '../../events/outbox/outbox.store.js';
import type { Database, Transaction } from './database.js';
import { endSteeringTurns, findSteeringTurns, insertTurn, mergeTurn, unfinishedOf } from '../../records/turn-rows.js';

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
    await insertFiles(db.database);
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
        const { turnIds } = await findRecentTurns(database, place.messageId, { turns: 3, calls: 24 });
        return listCalls(database, turnIds, 24);
      },
    ],
    [
      'the place of an entry in its journal',
      (database) => judgeEntry(database, { turnId: place.messageId, generation: 1, number: 1, size: 1 }),
    ],
    [
      'the turns of a message that is withdrawn',
      async (database) => {
        await findConcernedTurns(database, place.messageId);
        await findNewestMerged(database, place.messageId);
      },
    ],
    [
      'the turns of a message that is stopped',
      (database) => findTurnsOfMessage(database, place.workspaceId, place.messageId),
    ],
    [
      'messages that steer a turn',
      async (database) => {
        await readSteering(database, place.messageId, place.messageId);
        await endSteeringTurns(
          database,
          place.messageId,
          await findSteeringTurns(database, place.messageId, [place.messageId]),
        );
        await mergeTurn(database, place.messageId, place.agentId);
      },
    ],
    ['the entries to prune', (database) => pruneJournals(database, new Date(0), 5_000)],
    ['the entry of an object', (database) => hasJournalObject(database, place.messageId)],
    ['the user of an identity', (database) => findUser(database, { issuer: 'filled', subject: place.userId })],
    [
      'the session of a token',
      (database) =>
        lookUpCaller(database, { issuer: 'filled', subject: place.userId, issuedAt: new Date() }, Buffer.alloc(32, 1)),
    ],
    [
      'an API token and its last use',
      async (database) => {
        await findPresentedToken(database, Buffer.alloc(32));
        await recordApiTokenUse(database, place.userId);
        await isTokenRevoked(database, Buffer.alloc(32));
      },
    ],
    [
      'the API tokens of a user',
      async (database) => {
        await listApiTokens(database, place.userId);
        await countApiTokens(database, place.userId);
        await deleteExpiredApiTokens(database, place.userId);
        await deleteApiToken(database, place.userId, place.userId);
      },
    ],
    ['the tokens of an answer', (database) => countAnswerTokens(database, place.messageId)],
    ['the revocation of a token', (database) => revokeToken(database, Buffer.alloc(32, 1), new Date())],
    [
      'the check for ended sessions',
      (database) => findEndedSessions(database, [{ user_id: place.userId, token_hash: 'ab'.repeat(32) }]),
    ],
    [
      'the record of a device',
      (database) => recordDevice(database, place.userId, { id: 'd', info: '', version: '', timezone: '' }, 20),
    ],
    ['the deletion of a push token', (database) => forgetPushToken(database, place.userId, 'phone')],
    [
      'the shown notifications of a conversation that was read',
      (database) =>
        createPushJobs({ enqueue: async () => undefined }, 0).withdraw(
          { conversationId: place.conversationId, userId: place.userId },
          database as Transaction,
        ),
    ],
    ['the notifications to withdraw', (database) => findOutdatedNotifications(database, place.conversationId)],
    ['the badge of a user', (database) => countBadge(database, place.userId)],
    ...USAGE_STATEMENTS.map((statement): Statement => [statement.name, (database) => statement.run(database, place)]),
    ['the audit log of a user', (database) => listAudit(database, 50, place.userId)],
    ['the workspaces of a user', (database) => listOwnedWorkspaces(database, place.userId)],
    ['one workspace', (database) => findOwnedWorkspace(database, place.workspaceId, place.userId)],
    ['the owner of a workspace', (database) => isWorkspaceOwnedBy(database, place.workspaceId, place.userId)],
    ['runtimes by workspace', (database) => listRuntimes(database, [place.workspaceId])],
    ['a page of runtimes', (database) => pageRuntimes(database, place.workspaceId, 100)],
    ['jobs made due for runtimes', (database) => createJobQueue(database).ensureDue('runtime', [place.workspaceId], 0)],
    ['a page of artifacts', (database) => listArtifacts(database, place.workspaceId, 50)],
    [
      'a later page of artifacts',
      (database) =>
        listArtifacts(database, place.workspaceId, 50, {
          time: new Date().toISOString(),
          key: place.agentId,
        }),
    ],
    [
      'an artifact with its versions',
      async (database) => {
        await findArtifact(database, place.workspaceId, place.agentId);
        await listArtifactVersions(database, place.agentId);
      },
    ],
    ['the search for an object of artifacts', (database) => hasArtifactObject(database, place.agentId)],
    [
      'the approvals of calls',
      async (database) => {
        await findApproval(database, place.workspaceId, 'c');
        await lockApproval(database, place.messageId);
        await areApprovalsOpen(database, place.workspaceId, ['c']);
        await supersedeApprovalsOf(database, { turnIds: [place.messageId], messageIds: [place.messageId] });
        await isApprovalCard(database, place.messageId);
        await supersedeApprovals(database, place.conversationId);
        await findExpiredApproval(database);
        await expireApproval(database, place.messageId);
      },
    ],
    [
      'receipts',
      async (database) => {
        const position = { time: new Date().toISOString(), key: place.agentId };
        await countReceipts(database, place.workspaceId);
        await findCallsOfConversation(database, place.conversationId, 10);
        await hasSentSince(database, { id: place.messageId, agentId: place.messageId, messageId: place.messageId });
        await listReceipts(database, place.userId, { limit: 50 });
        await listReceipts(database, place.userId, { workspaceId: place.workspaceId, limit: 50, after: position });
        await listReceipts(database, place.userId, { workspaceIds: [place.workspaceId], limit: 50 });
        await getReceipt(database, place.userId, place.messageId);
        await findReceipt(database, place.messageId, 'c');
        await findSentCalls(database, place.messageId);
        await findLeftReceipts(database, 20, place.messageId);
        await finishLeftReceipt(database, place.messageId, { status: 'unknown', outcome: '' });
        await lockUnsignedReceipts(database, 100);
      },
    ],
    [
      'the steps of a turn',
      async (database) => {
        const found = await findTurnChain(database, place.userId, place.conversationId, place.messageId);
        const [chain = found] = await listTurnChains(database, place.conversationId, undefined, 1);
        await findStepRecords(database, chain);
        await listTimedEntries(database, [place.messageId], 0, 16);
        await findTurnIdsOfChain(database, place.messageId);
      },
    ],
    [
      'the cards that wait for a user',
      async (database) => {
        await listOpenCards(database, place.userId, { limit: 50 });
        await listOpenCards(database, place.userId, {
          limit: 50,
          after: { time: new Date().toISOString(), key: place.messageId },
          workspaceIds: [place.workspaceId],
        });
      },
    ],
    ['the history of an agent', (database) => pageAgentHistory(database, place.agentId, 'older', null, 50)],
    [
      'an older page of the history',
      (database) => pageAgentHistory(database, place.agentId, 'older', ownPlace(1_002), 50),
    ],
    [
      'a newer page of the history',
      (database) => pageAgentHistory(database, place.agentId, 'newer', ownPlace(1_001), 50),
    ],
    ['the check for more history', (database) => hasAgentHistory(database, place.agentId, 'newer', ownPlace(1_001))],
    [
      'the conversations of a workspace',
      (database) => listConversationPositions(database, place.workspaceId, 'older', undefined, null),
    ],
    ['one conversation', (database) => findConversation(database, place.workspaceId, place.conversationId)],
    ['the first page of messages', (database) => pageMessages(database, place.conversationId, 'older', null, 50)],
    [
      'the access to a conversation',
      (database) => findConversationAccess(database, place.userId, place.workspaceId, place.conversationId),
    ],
    ['an older page of messages', (database) => pageMessages(database, place.conversationId, 'older', ownPlace(8), 50)],
    ['a newer page of messages', (database) => pageMessages(database, place.conversationId, 'newer', ownPlace(3), 50)],
    ['the check for older messages', (database) => hasMessages(database, place.conversationId, 'older', ownPlace(8))],
    [
      'the files of a conversation',
      async (database) => {
        await conversationFiles(database, place.conversationId, [place.messageId]);
        await newestFiles(database, place.conversationId, 200);
      },
    ],
    ['messages by id', (database) => findMessages(database, [place.messageId])],
    [
      'the storing of a group of messages',
      (database) => {
        const message = { ...place, agentIds: [place.agentId], text: 'hi', localId: 'l7' };
        // Past the deadline: the statement is explained again, and must not insert the message twice.
        return insertUnlocked(database, [{ message, deadline: new Date(0) }]);
      },
    ],
    [
      'the context of a message to send',
      (database) => findSendContexts(database, [{ ...place, localId: 'l7' }], '2026-01'),
    ],
    ['what a turn has left unfinished', (database) => unfinishedOf(database, place.messageId)],
    [
      'the insertion of a turn into a full queue',
      (database) => insertTurn(database, { id: place.messageId, ...place, userMessageId: place.messageId }, 0),
    ],
    [
      'the history of a turn',
      (database) =>
        loadHistory(
          database,
          { conversation_id: place.conversationId, user_message_id: place.messageId, agent_id: place.agentId },
          200,
        ),
    ],
    ['the read of waiting events', (database) => findDueEvents(database, [1, 33], { workspaces: 20, events: 50 })],
    [
      'the advance of the outbox',
      (database) =>
        advanceOutbox(database, [{ workspaceId: place.workspaceId, fromSeq: 1, uptoSeq: MESSAGES, at: new Date() }]),
    ],
    ['the claim of jobs', (database) => createJobQueue(database).claim('turn', 32, 1)],
    ['the search for job types with due jobs', (database) => createJobQueue(database).dueKinds(['turn', 'push'])],
    ['the backfill of the search', (database) => foldMessagesAgain(database, place.messageId)],
    ['the runtime of a workspace', (database) => lockRuntime(database, place.workspaceId)],
    ['the check for jobs of a workspace', (database) => createJobQueue(database).waits('turn', place.workspaceId)],
    ['jobs made due now', (database) => createJobQueue(database).makeDueNow('turn', place.workspaceId)],
  ])('%s uses an index', async (_what, use) => {
    expect(await sequentialScans(db.database, use)).toEqual([]);
  });

  it('the fair claim of jobs uses an index', async () => {
    // EXPLAIN does not show statements inside a function.
    const scans = await db.database.transaction().execute(async (tx) => {
      await createJobQueue(tx).claimFairly('turn', 32, 1, 4);
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
      readBacklog(database, ['turn', 'runtime', 'upload']),
    );
    expect(scans).toEqual([
      expect.stringContaining('event_outbox: SELECT'),
      expect.stringContaining('runtimes: SELECT phase'),
    ]);
  });
});
