import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { MessageData, MessagePage } from '@uswarm/contract';
import { sql } from 'kysely';
import { ADMIN_KEY, createTestAdmin, type TestAdmin } from '../../../test/admin-client.js';
import { allRows } from '../../../test/database-rows.js';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';
import { createTestTurnWorker, type TestTurnWorker } from '../../../test/turn-fixture.js';

const UNKNOWN_ID = '01890000-0000-7000-8000-00000000dead';

describe('turns in the operator API', () => {
  let uswarm: TestOrchestrator;
  let admin: TestAdmin;
  let turnWorker: TestTurnWorker;
  let user: TestUser;
  let home: Home;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ environment: { ADMIN_API_KEY: ADMIN_KEY } });
    admin = createTestAdmin(uswarm);
    turnWorker = createTestTurnWorker(uswarm.database);
  });
  afterAll(() => uswarm.close());
  beforeEach(async () => {
    await uswarm.database.deleteFrom('work').where('kind', '=', 'turn').execute();
    user = await uswarm.user();
    home = await uswarm.home(user);
  });

  const ask = async (text = 'why?') => {
    const { body } = await user.post<{ data: MessageData }>(home.messages, { content: { type: 'text', text } }, 201);
    const { id } = await uswarm.database
      .selectFrom('turns')
      .select('id')
      .where('user_message_id', '=', body.data.id)
      .executeTakeFirstOrThrow();
    return { turnId: id, messageId: body.data.id };
  };
  /** Sends a message whose turn fails after some text, as after a runtime was lost twice. */
  const failTurn = async () => {
    const asked = await ask();
    const work = await turnWorker.claim();
    const writer = await turnWorker.writerOf(work);
    await writer.begin();
    await writer.finish({
      turnStatus: 'failed',
      messageStatus: 'incomplete',
      text: 'half an',
      errorCode: 'runtime_lost',
    });
    return asked;
  };
  const list = async (filter: Parameters<typeof admin.call<'turns.list'>>[1] = {}) =>
    (await admin.call('turns.list', { workspace_id: home.workspaceId, ...filter })).turns;
  const messages = async () => (await user.get<MessagePage>(`${home.messages}?direction=forward`)).body.data;

  it('are listed with their age, oldest first', async () => {
    const asked = [await ask('one'), await ask('two')];
    await uswarm.database
      .updateTable('turns')
      .set({ created_at: sql<Date>`now() - interval '10 minutes'` } as never)
      .where('id', '=', asked[1]?.turnId ?? '')
      .execute();
    const turns = await list();
    expect(turns.map(({ id }) => id)).toEqual([asked[1]?.turnId, asked[0]?.turnId]);
    expect(turns[0]).toMatchObject({ status: 'queued', generation: 1, leased: false, failures: 0, error_code: null });
    expect(Math.round((turns[0]?.age_s ?? 0) / 60)).toBe(10);
    expect((await list({ older_than_s: 300 })).map(({ id }) => id)).toEqual([asked[1]?.turnId]);
    expect(await list({ limit: 1 })).toHaveLength(1);
  });

  it('are listed as running while they are leased, and as failed only on request', async () => {
    const { turnId } = await ask();
    const writer = await turnWorker.writerOf(await turnWorker.claim());
    await writer.begin();
    expect(await list({ status: 'running' })).toMatchObject([{ id: turnId, leased: true }]);
    expect({ queued: await list({ status: 'queued' }), failed: await list({ status: 'failed' }) }).toEqual({
      queued: [],
      failed: [],
    });
    await writer.finish({ turnStatus: 'failed', messageStatus: 'failed', text: '', errorCode: 'runtime_lost' });
    expect(await list()).toEqual([]);
    expect(await list({ status: 'failed' })).toMatchObject([{ id: turnId, error_code: 'runtime_lost', leased: false }]);
  });

  it('are listed for the given workspace only', async () => {
    await ask();
    const other = await uswarm.home(await uswarm.user());
    expect(await list({ workspace_id: other.workspaceId })).toEqual([]);
  });

  it('are released if they are leased: the next worker claims them immediately, and the first one stores nothing more', async () => {
    const { turnId } = await ask();
    const stuck = await turnWorker.claim();
    const writer = await turnWorker.writerOf(stuck);
    await writer.begin();
    await turnWorker.stores.jobs.release(stuck, 3_600_000, true);
    expect(await admin.call('turns.requeue', { turn_ids: [turnId] })).toEqual({ requeued: [turnId], refused: [] });
    const again = await turnWorker.claim();
    expect({ subjectId: again.subjectId, failures: again.failures }).toEqual({ subjectId: turnId, failures: 0 });
    writer.markRead();
    await expect(writer.flush()).rejects.toThrow();
  });

  it('are restarted with a new reply if they failed, and the failed reply does not change', async () => {
    const { turnId, messageId } = await failTurn();
    expect(await admin.call('turns.requeue', { turn_ids: [turnId], reason: 'the model was down' })).toEqual({
      requeued: [turnId],
      refused: [],
    });
    const work = await turnWorker.claim();
    expect(await turnWorker.turnOf(work)).toMatchObject({
      id: turnId,
      status: 'queued',
      generation: 2,
      reply_message_id: null,
    });
    const writer = await turnWorker.writerOf(work);
    await writer.begin();
    await writer.finish({ turnStatus: 'done', messageStatus: 'delivered', text: 'Because.', errorCode: null });
    expect(
      (await messages()).map(({ id, content, extended_status }) => [id === messageId, content, extended_status]),
    ).toEqual([
      [true, { type: 'text', text: 'why?' }, 'delivered'],
      [false, { type: 'text', text: 'half an' }, 'incomplete'],
      [false, { type: 'text', text: 'Because.' }, 'delivered'],
    ]);
    const { entries } = await admin.call('audit.list', { limit: 1 });
    expect(entries).toMatchObject([
      { actor: 'olivia', action: 'turns.requeue', subject_id: turnId, details: { reason: 'the model was down' } },
    ]);
  });

  it('begin immediately and show all of their text if they failed while they continued an earlier turn', async () => {
    const { turnId } = await failTurn();
    await sql`
      UPDATE turns SET shown_entries = 3, waits_until = now() + interval '1 hour' WHERE id = ${turnId}`.execute(
      uswarm.database,
    );
    await admin.call('turns.requeue', { turn_ids: [turnId] });
    const turn = await turnWorker.turnOf(await turnWorker.claim());
    // Shown entries are deleted with the journal.
    expect(turn).toMatchObject({ shown_entries: 0, waits_until: null });
  });

  it('keep their position before later messages if they failed', async () => {
    const failed = await failTurn();
    const later = await ask('and then?');
    await admin.call('turns.requeue', { turn_ids: [failed.turnId] });
    const claimed = await turnWorker.claim();
    expect(claimed.subjectId).toBe(failed.turnId);
    await expect(turnWorker.claim()).rejects.toThrow('empty');
    await turnWorker.stores.jobs.complete(claimed);
    expect((await turnWorker.claim()).subjectId).toBe(later.turnId);
  });

  it('resume a suspended runtime if they failed', async () => {
    const { turnId } = await failTurn();
    await uswarm.database
      .updateTable('runtimes')
      .set({ desired: 'suspended' })
      .where('workspace_id', '=', home.workspaceId)
      .execute();
    await admin.call('turns.requeue', { turn_ids: [turnId] });
    const runtime = await uswarm.database
      .selectFrom('runtimes')
      .select('desired')
      .where('workspace_id', '=', home.workspaceId)
      .executeTakeFirstOrThrow();
    expect(runtime.desired).toBe('running');
  });

  it('begin once if they are requeued concurrently', async () => {
    const { turnId } = await failTurn();
    await Promise.all(Array.from({ length: 5 }, () => admin.call('turns.requeue', { turn_ids: [turnId] })));
    expect((await turnWorker.turnOf(await turnWorker.claim())).generation).toBe(2);
  });

  it('are rejected with a reason if they are done, stopped or unknown, and the others are requeued', async () => {
    const { turnId } = await ask();
    const writer = await turnWorker.writerOf(await turnWorker.claim());
    await writer.begin();
    await writer.finish({ turnStatus: 'done', messageStatus: 'delivered', text: 'x', errorCode: null });
    const waiting = await ask();
    const answer = await admin.call('turns.requeue', { turn_ids: [turnId, UNKNOWN_ID, waiting.turnId] });
    expect(answer).toEqual({
      requeued: [waiting.turnId],
      refused: [
        { id: turnId, why: 'the turn is done' },
        { id: UNKNOWN_ID, why: 'turn not found' },
      ],
    });
  });

  it.each([[{ turn_ids: [] }], [{ turn_ids: ['x'] }], [{}]])(
    'are rejected if the body is %j, and nothing is stored',
    async (body) => {
      const before = await allRows(uswarm.database);
      expect(await admin.refusal('turns.requeue', body)).toBe('validation_failed');
      expect(await allRows(uswarm.database)).toEqual(before);
    },
  );
});
