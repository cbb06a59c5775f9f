import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { silentLogger, systemClock } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { sql } from 'kysely';
import { createWithTransaction } from '../../platform/database/transaction.js';
import {
  startTestOrchestrator,
  type Home,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';
import { createTestTurnWorker, type TestTurnWorker } from '../../../test/turn-fixture.js';
import { requeueFailedTurn } from '../../accounts/admin/requeue.store.js';
import { createContentObjects } from '../../records/content-objects.js';
import { createFileObjects } from '../../workspaces/uploads/file-objects.js';
import { createJournalBodies, JOURNAL_OBJECT_JOB, JournalUnavailable } from './journal-bodies.js';
import { journalJobs } from './journal-retention.js';
import {
  type CallRecord,
  MAX_ROW_BYTES,
  listEntries,
  findRecentTurns,
  listCalls,
  pruneJournals,
} from './journal.store.js';

const LARGE = JSON.stringify('x'.repeat(MAX_ROW_BYTES));
const NEVER = new AbortController().signal;
const DAY_MS = 24 * 3_600_000;

const searched = (query: string): CallRecord => ({
  tool: 'web_search_tool',
  arguments: JSON.stringify({ query }),
  failed: false,
  sources: [{ title: query, address: `https://example.com/${query}` }],
});

describe('the journal of a finished turn', () => {
  let uswarm: TestOrchestrator;
  let worker: TestTurnWorker;
  let user: TestUser;
  let home: Home;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ environment: { UPKEEP_WORKERS: '1' } });
    worker = createTestTurnWorker(uswarm.database);
  });
  beforeEach(async () => {
    await uswarm.database.deleteFrom('work').where('kind', '=', 'turn').execute();
    user = await uswarm.user();
    home = await uswarm.home(user);
  });
  afterAll(() => uswarm?.close());

  const bodies = () =>
    createJournalBodies({
      contents: createContentObjects({
        job: JOURNAL_OBJECT_JOB,
        withTransaction: createWithTransaction(uswarm.database),
        jobs: worker.stores.jobs,
        objects: createFileObjects(uswarm.objectDirectory),
      }),
      logger: silentLogger,
    });
  const objects = async (): Promise<string[]> =>
    (await readdir(uswarm.objectDirectory, { recursive: true })).filter((name) => name.includes('/'));
  const entriesOf = (turnId: string) => listEntries(worker.stores.database, turnId);

  /** The result has a large body. */
  async function turn(query: string, body = LARGE) {
    await user.post(home.messages, { content: { type: 'text', text: `Search for ${query}` } }, 201);
    const job = await worker.claim();
    const row = await worker.turnOf(job);
    const writer = await worker.writerOf(job);
    const { replyId } = await writer.begin();
    await writer.entry(1, { number: 1, kind: 'step', body: '{}' });
    const stored = await bodies().put({ turnId: row.id, number: 2, body }, NEVER);
    const tool = { type: 'tool_status', tool: 'web_search_tool', description: query, state: 'completed' } as const;
    const line = { callId: 'c', content: tool };
    await writer.entry(1, { number: 2, kind: 'result', ...stored, tool: line, call: searched(query) });
    await writer.finish({ turnStatus: 'done', messageStatus: 'delivered', text: `Found ${query}.`, errorCode: null });
    const { id: lineId } = await uswarm.database
      .selectFrom('messages')
      .select('id')
      .where('turn_id', '=', row.id)
      .where('turn_key', '=', 'tool:c')
      .executeTakeFirstOrThrow();
    return { id: row.id, userMessageId: row.user_message_id, replyId, lineId };
  }

  async function recentCalls(): Promise<CallRecord[]> {
    await user.post(home.messages, { content: { type: 'text', text: 'And the second?' } }, 201);
    const row = await worker.turnOf(await worker.claim());
    const { turnIds, calls } = await findRecentTurns(worker.stores.database, row.user_message_id, {
      turns: 3,
      calls: 24,
    });
    expect(await listCalls(worker.stores.database, turnIds, 24)).toEqual(calls);
    return calls;
  }

  it('has large bodies in the object store, with hash and size in the row', async () => {
    const before = await objects();
    const { id } = await turn('llamas');
    const [, entry] = await entriesOf(id);
    expect(entry).toMatchObject({ number: 2, size: Buffer.byteLength(LARGE), hash: expect.any(Buffer) });
    expect((await objects()).length).toBe(before.length + 1);
    expect(await bodies().read(await entriesOf(id), NEVER)).toEqual([
      { number: 1, kind: 'step', body: '{}' },
      { number: 2, kind: 'result', body: LARGE },
    ]);
  });

  it('is not read if a body is not what was stored', async () => {
    const { id } = await turn('llamas');
    await uswarm.database
      .updateTable('turn_entries')
      .set({ hash: Buffer.alloc(32) })
      .where('turn_id', '=', id)
      .where('number', '=', 2)
      .execute();
    await expect(bodies().read(await entriesOf(id), NEVER)).rejects.toThrow(JournalUnavailable);
  });

  it('feeds the next turns with tool, arguments and sources of the last three turns', async () => {
    for (const query of ['one', 'two', 'three', 'four']) await turn(query, '{}');
    expect(await recentCalls()).toEqual(['two', 'three', 'four'].map(searched));
  });

  it('does not feed turns of another conversation', async () => {
    await turn('one', '{}');
    user = await uswarm.user();
    home = await uswarm.home(user);
    expect(await recentCalls()).toEqual([]);
  });

  it.each([
    ['the question', 'userMessageId'],
    ['the reply', 'replyId'],
    ['the line of the tool call', 'lineId'],
  ] as const)('is deleted with %s, so that later turns are not told about it', async (_what, message) => {
    const before = await objects();
    const kept = await turn('kept', '{}');
    const deleted = await turn('deleted');
    await user.delete(`${home.workspace}/messages/${deleted[message]}`, undefined, 204);
    expect(await entriesOf(deleted.id)).toEqual([]);
    expect(await entriesOf(kept.id)).toHaveLength(2);
    expect(await recentCalls()).toEqual([searched('kept')]);
    await eventually(objects, { until: (found) => found.length === before.length, timeoutMs: 30_000 });
  });

  it.each([
    ['the conversation', () => user.delete(home.conversation, undefined, 204)],
    ['the workspace', () => user.delete(home.workspace, undefined, 204)],
    ['the account', () => user.delete('/v1/auth/delete', undefined, 204)],
  ])('is deleted with %s', async (_what, remove) => {
    const before = await objects();
    const { id } = await turn('llamas');
    await remove();
    expect(await eventually(() => entriesOf(id), { until: (entries) => entries.length === 0 })).toEqual([]);
    await eventually(objects, { until: (found) => found.length === before.length, timeoutMs: 30_000 });
  });

  it('does not continue a failed turn that an operator starts again', async () => {
    await user.post(home.messages, { content: { type: 'text', text: 'hello' } }, 201);
    const job = await worker.claim();
    const writer = await worker.writerOf(job);
    await writer.begin();
    await writer.entry(1, { number: 1, kind: 'step', body: '{}' });
    await writer.finish({ turnStatus: 'failed', messageStatus: 'failed', text: 'Sorry.', errorCode: 'runtime_lost' });
    expect(await entriesOf(job.subjectId)).toHaveLength(1);
    expect(await createWithTransaction(uswarm.database)((tx) => requeueFailedTurn(tx, job.subjectId))).toBe(true);
    expect(await entriesOf(job.subjectId)).toEqual([]);
  });

  it('is deleted after 30 days, and that of a running turn is not', async () => {
    const old = await turn('old', '{}');
    const recent = await turn('recent', '{}');
    await sql`UPDATE turns SET finished_at = finished_at - interval '31 days' WHERE id = ${old.id}`.execute(
      uswarm.database,
    );
    await user.post(home.messages, { content: { type: 'text', text: 'Go on' } }, 201);
    const job = await worker.claim();
    const writer = await worker.writerOf(job);
    await writer.begin();
    await writer.entry(1, { number: 1, kind: 'step', body: '{}' });
    await sql`UPDATE turn_entries SET created_at = created_at - interval '31 days' WHERE turn_id IN (${old.id}, ${job.subjectId})`.execute(
      uswarm.database,
    );
    const [pruning] = journalJobs({
      config: { JOURNALS_KEPT_DAYS: 30 },
      background: {
        database: uswarm.database,
        withTransaction: createWithTransaction(uswarm.database),
        jobs: worker.stores.jobs,
      },
      objects: createFileObjects(uswarm.objectDirectory),
      clock: systemClock,
      logger: silentLogger,
    });
    await pruning!.handle(job, NEVER);
    const left = await Promise.all([old.id, recent.id, job.subjectId].map(async (id) => (await entriesOf(id)).length));
    expect(left).toEqual([0, 2, 1]);
  });

  it('is pruned in bounded steps, the oldest entries first', async () => {
    const { id } = await turn('old', '{}');
    await sql`UPDATE turns SET finished_at = finished_at - interval '40 days' WHERE id = ${id}`.execute(
      uswarm.database,
    );
    await sql`UPDATE turn_entries SET created_at = created_at - interval '40 days' WHERE turn_id = ${id}`.execute(
      uswarm.database,
    );
    const before = new Date(Date.now() - 39 * DAY_MS);
    expect(await pruneJournals(worker.stores.database, before, 1)).toBe(1);
    expect(await pruneJournals(worker.stores.database, before, 5)).toBe(1);
    expect(await pruneJournals(worker.stores.database, before, 5)).toBe(0);
  });
});
