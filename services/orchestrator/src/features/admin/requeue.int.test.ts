import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { MessageData, MessagePage } from '@uswarm/contract';
import { sql } from 'kysely';
import { ADMIN_KEY, createTestAdmin, type TestAdmin } from '../../../test/admin-client.js';
import { storedRows } from '../../../test/stored.js';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';
import { createTurnTaker, type TurnTaker } from '../../../test/turns.js';

const NOBODY = '01890000-0000-7000-8000-00000000dead';

describe('turns, for operators', () => {
  let uswarm: TestOrchestrator;
  let admin: TestAdmin;
  let taker: TurnTaker;
  let user: TestUser;
  let home: Home;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ environment: { ADMIN_API_KEY: ADMIN_KEY } });
    admin = createTestAdmin(uswarm);
    taker = createTurnTaker(uswarm.database);
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
  /** A question whose reply failed after some text, as a runtime that was lost twice leaves it. */
  const askInVain = async () => {
    const asked = await ask();
    const work = await taker.claim();
    const writer = await taker.writerOf(work);
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

  it('are listed with their age, the oldest first', async () => {
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
    const writer = await taker.writerOf(await taker.claim());
    await writer.begin();
    expect(await list({ status: 'running' })).toMatchObject([{ id: turnId, leased: true }]);
    expect([await list({ status: 'queued' }), await list({ status: 'failed' })]).toEqual([[], []]);
    await writer.finish({ turnStatus: 'failed', messageStatus: 'failed', text: '', errorCode: 'runtime_lost' });
    expect(await list()).toEqual([]);
    expect(await list({ status: 'failed' })).toMatchObject([{ id: turnId, error_code: 'runtime_lost', leased: false }]);
  });

  it('of other workspaces are not listed with one named', async () => {
    await ask();
    const other = await uswarm.home(await uswarm.user());
    expect(await list({ workspace_id: other.workspaceId })).toEqual([]);
  });

  it('that are leased are released: the next worker gets them immediately, and the first one writes nothing more', async () => {
    const { turnId } = await ask();
    const stuck = await taker.claim();
    const writer = await taker.writerOf(stuck);
    await writer.begin();
    await taker.stores.jobs.release(stuck, 3_600_000, true);
    expect(await admin.call('turns.requeue', { turn_ids: [turnId] })).toEqual({ requeued: [turnId], refused: [] });
    const again = await taker.claim();
    expect([again.subjectId, again.failures]).toEqual([turnId, 0]);
    await expect(writer.markRead()).rejects.toThrow();
  });

  it('that failed restart with a new reply; the failed reply stays as it was shown', async () => {
    const { turnId, messageId } = await askInVain();
    expect(await admin.call('turns.requeue', { turn_ids: [turnId], reason: 'the model was down' })).toEqual({
      requeued: [turnId],
      refused: [],
    });
    const work = await taker.claim();
    expect(await taker.turnOf(work)).toMatchObject({
      id: turnId,
      status: 'queued',
      generation: 2,
      reply_message_id: null,
    });
    const writer = await taker.writerOf(work);
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

  it('that failed keep their place before later messages', async () => {
    const failed = await askInVain();
    const later = await ask('and then?');
    await admin.call('turns.requeue', { turn_ids: [failed.turnId] });
    const claimed = await taker.claim();
    expect(claimed.subjectId).toBe(failed.turnId);
    await expect(taker.claim()).rejects.toThrow('empty');
    await taker.stores.jobs.complete(claimed);
    expect((await taker.claim()).subjectId).toBe(later.turnId);
  });

  it('that failed wake a runtime that sleeps', async () => {
    const { turnId } = await askInVain();
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

  it('that are requeued concurrently begin once', async () => {
    const { turnId } = await askInVain();
    await Promise.all(Array.from({ length: 5 }, () => admin.call('turns.requeue', { turn_ids: [turnId] })));
    expect((await taker.turnOf(await taker.claim())).generation).toBe(2);
  });

  it('that are done, stopped or not there are refused, each with its reason, and the others go on', async () => {
    const { turnId } = await ask();
    const writer = await taker.writerOf(await taker.claim());
    await writer.begin();
    await writer.finish({ turnStatus: 'done', messageStatus: 'delivered', text: 'x', errorCode: null });
    const waiting = await ask();
    const answer = await admin.call('turns.requeue', { turn_ids: [turnId, NOBODY, waiting.turnId] });
    expect(answer).toEqual({
      requeued: [waiting.turnId],
      refused: [
        { id: turnId, why: 'the turn is done' },
        { id: NOBODY, why: 'turn not found' },
      ],
    });
  });

  it.each([[{ turn_ids: [] }], [{ turn_ids: ['x'] }], [{}]])(
    'are refused as %j, and nothing is stored',
    async (body) => {
      const before = await storedRows(uswarm.database);
      expect(await admin.refusal('turns.requeue', body)).toBe('validation_failed');
      expect(await storedRows(uswarm.database)).toEqual(before);
    },
  );
});
