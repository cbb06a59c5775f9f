import { createHash, randomUUIDv7 } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Receipt, ReceiptKeySet, ReceiptPage } from '@uswarm/contract';
import { verifyReceiptSignature } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { sql } from 'kysely';
import { MAIL, startTurn, storeReceipt } from '../../../test/receipts.js';
import { settleReceipts } from '../../../test/settle-receipts.js';
import { createStores } from '../../../test/stores.js';
import { insertTurnContext } from '../../../test/turn-context.js';
import { first, startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../../test/test-orchestrator.js';
import { createWithTransaction } from '../../platform/database/transaction.js';
import { createListCursors } from '../../records/list-cursor.js';
import { createReceiptService } from './receipts.service.js';
import { listReceipts, countReceipts, findCallsOfConversation } from './receipts.store.js';
import { resumeTurn } from '../turns.store.js';

const RECEIPTS = '/v1/receipts';

describe('receipts', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
  });
  afterAll(() => uswarm.close());

  const withHome = async () => {
    const user = await uswarm.user();
    return { user, home: await uswarm.home(user) };
  };
  const ownerOf = ({ workspaceId }: { workspaceId: string }) =>
    uswarm.database
      .selectFrom('workspaces')
      .select('owner_id as userId')
      .where('id', '=', workspaceId)
      .executeTakeFirstOrThrow();
  const read = async (user: TestUser, query = '') => (await user.get<ReceiptPage>(`${RECEIPTS}${query}`)).body;
  const idsOf = ({ data }: ReceiptPage) => data.map(({ id }) => id);
  const keys = async () => (await uswarm.anonymous.get<ReceiptKeySet>('/v1/receipt-keys')).body.keys;
  const settle = () =>
    settleReceipts(createStores(uswarm.database), { withTransaction: createWithTransaction(uswarm.database) });
  const statusOf = async (user: TestUser, id: string) =>
    (await user.get<{ data: Receipt }>(`${RECEIPTS}/${id}`)).body.data.status;

  it('are listed in pages, newest first', async () => {
    const { user, home } = await withHome();
    const ids = [];
    for (let n = 0; n < 3; n += 1) ids.unshift(await storeReceipt(uswarm, home));
    const page = await read(user, '?limit=2');
    expect(idsOf(page)).toEqual(ids.slice(0, 2));
    const next = await read(user, `?limit=2&scrollId=${page.pagination.next_scroll_id}`);
    expect(idsOf(next)).toEqual(ids.slice(2));
    expect(next.pagination).toEqual({ next_scroll_id: null, prev_scroll_id: null, has_next: false, has_prev: false });
  });

  it('can be filtered by workspace', async () => {
    const { user, home } = await withHome();
    const id = await storeReceipt(uswarm, home);
    expect(idsOf(await read(user, `?workspace_id=${home.workspaceId}`))).toEqual([id]);
    expect(idsOf(await read(user, `?workspace_id=${randomUUIDv7()}`))).toEqual([]);
  });

  it('reject a cursor of another user or filter', async () => {
    const [one, other] = [await withHome(), await withHome()];
    for (let n = 0; n < 2; n += 1) await storeReceipt(uswarm, one.home);
    const { pagination } = await read(one.user, '?limit=1');
    const path = `${RECEIPTS}?scrollId=${pagination.next_scroll_id}`;
    expect(await other.user.refusal('GET', path)).toBe('cursor_invalid');
    expect(await one.user.refusal('GET', `${path}&workspace_id=${one.home.workspaceId}`)).toBe('cursor_invalid');
  });

  it('end a page early that does not fit into one response', async () => {
    const { user, home } = await withHome();
    const ids = [];
    for (let n = 0; n < 12; n += 1)
      ids.unshift(await storeReceipt(uswarm, home, { input: { body: 'x'.repeat(50_000) } }));
    const page = await read(user);
    expect(page.data.length).toBeLessThan(12);
    const rest = await read(user, `?scrollId=${page.pagination.next_scroll_id}`);
    expect([...idsOf(page), ...idsOf(rest)]).toEqual(ids);
  });

  it('are not all read for a page if they are long', async () => {
    const { user, home } = await withHome();
    const { userId } = await ownerOf(home);
    for (let n = 0; n < 40; n += 1) await storeReceipt(uswarm, home, { input: { body: 'x'.repeat(50_000) } });
    const rows = await listReceipts(uswarm.database, userId, { limit: 100 });
    expect(rows.length).toBeLessThan(25);
    expect(rows.length).toBeGreaterThan((await read(user)).data.length);
  });

  it('are all listed and exported, also if one alone does not fit into one response', async () => {
    const { user, home } = await withHome();
    const ids = [];
    for (const length of [10, 10, 1_200_000, 1_200_000, 10])
      ids.unshift(await storeReceipt(uswarm, home, { input: { body: 'x'.repeat(length) } }));
    const listed = [];
    for (let query = ''; ;) {
      const page = await read(user, query);
      listed.push(...idsOf(page));
      if (page.pagination.next_scroll_id === null) break;
      query = `?scrollId=${page.pagination.next_scroll_id}`;
    }
    expect(listed).toEqual(ids);
    const { userId } = await ownerOf(home);
    const service = createReceiptService({
      database: uswarm.database,
      cursors: createListCursors('receipts', 'k'.repeat(32)),
      key: { kid: 'k', x: 'x' },
    });
    const exported = [];
    for await (const { id } of service.all(userId)) exported.push(id);
    expect(exported).toEqual(ids);
  });

  it('are visible to their owner only', async () => {
    const [one, other] = [await withHome(), await withHome()];
    const id = await storeReceipt(uswarm, one.home);
    expect(idsOf(await read(one.user))).toEqual([id]);
    expect(idsOf(await read(other.user))).toEqual([]);
    expect(await other.user.refusal('GET', `${RECEIPTS}/${id}`)).toBe('receipt_not_found');
  });

  it('are signed when their call has ended, with exactly the listed fields', async () => {
    const { user, home } = await withHome();
    const id = await storeReceipt(uswarm, home);
    const { jws, ...receipt } = (await user.get<{ data: Receipt }>(`${RECEIPTS}/${id}`)).body.data;
    expect(receipt).toMatchObject({
      workspace_id: home.workspaceId,
      tool: 'send_mail',
      arguments: MAIL,
      status: 'succeeded',
      outcome: 'Sent the mail.',
      approval: null,
    });
    expect((await verifyReceiptSignature(jws ?? '', await keys())).payload).toEqual(receipt);
  });

  it('have no signature while their call has not ended', async () => {
    const { user, home } = await withHome();
    await storeReceipt(uswarm, home, { status: 'sent' });
    expect((await read(user)).data).toMatchObject([{ status: 'sent', finished_at: null, outcome: null, jws: null }]);
  });

  it('stay as they were signed if another turn continues theirs', async () => {
    const { user, home } = await withHome();
    const turnId = await startTurn(uswarm, user, home);
    const id = await storeReceipt(uswarm, home, { turnId });
    const before = await read(user);
    const later = await startTurn(uswarm, user, home);
    await insertTurnContext(uswarm.database, turnId);
    await resumeTurn(uswarm.database, later, turnId);
    const row = await uswarm.database.selectFrom('receipts').select('turn_id').where('id', '=', id).executeTakeFirst();
    expect(row).toEqual({ turn_id: later });
    expect(await read(user)).toEqual(before);
  });

  it('never change after they were signed', async () => {
    const { user, home } = await withHome();
    const turnId = randomUUIDv7();
    const id = await storeReceipt(uswarm, home, { turnId });
    const { receipts } = createStores(uswarm.database);
    const { call_id } = (await user.get<{ data: Receipt }>(`${RECEIPTS}/${id}`)).body.data;
    await receipts.finish(turnId, call_id, { status: 'failed', outcome: 'Not sent.' }, uswarm.database);
    expect(await receipts.finishLeft(id, { status: 'unknown', outcome: 'Not known.' }, uswarm.database)).toBe(false);
    expect(await statusOf(user, id)).toBe('succeeded');
  });

  it('are signed without arguments for changes of data of uswarm, and count as no sent calls', async () => {
    const { user, home } = await withHome();
    const { receipts } = createStores(uswarm.database);
    const turnId = await startTurn(uswarm, user, home);
    const { workspaceId, conversationId, agents } = home;
    const { user_id: userId } = await uswarm.database
      .selectFrom('turns')
      .innerJoin('workspaces as w', 'w.id', 'turns.workspace_id')
      .select('w.owner_id as user_id')
      .where('turns.id', '=', turnId)
      .executeTakeFirstOrThrow();
    const call = { id: 'c', turnId, workspaceId, conversationId, agentId: first(agents).id, userId };
    const own = { call, tool: 'remember', arguments: { key: 'pin', content: '4711' }, outcome: 'Saved as “pin”.' };
    await receipts.recordOwn(own, uswarm.database);
    const [{ jws, ...receipt }] = (await read(user)).data as [Receipt];
    expect(receipt).toMatchObject({
      version: 2,
      tool: 'remember',
      effect: 'own',
      arguments: null,
      arguments_sha256: createHash('sha256').update('{"content":"4711","key":"pin"}').digest('hex'),
      status: 'succeeded',
      outcome: 'Saved as “pin”.',
    });
    expect((await verifyReceiptSignature(jws ?? '', await keys())).payload).toEqual(receipt);
    expect(await countReceipts(uswarm.database, turnId)).toBe(0);
    expect(await findCallsOfConversation(uswarm.database, conversationId, 10)).toEqual([]);
    // As an operator does after a key has leaked.
    await sql`UPDATE receipts SET kid = NULL, jws = NULL WHERE id = ${receipt.id}`.execute(uswarm.database);
    await settle();
    expect((await read(user)).data).toEqual([{ ...receipt, jws }]);
  });

  it.each(['conversation', 'workspace'] as const)('stay when their %s is deleted', async (what) => {
    const { user, home } = await withHome();
    const id = await storeReceipt(uswarm, home);
    const path = what === 'workspace' ? home.workspace : home.conversation;
    await user.delete(path, undefined, 204);
    expect(idsOf(await read(user, `?workspace_id=${home.workspaceId}`))).toEqual([id]);
    expect(await statusOf(user, id)).toBe('succeeded');
  });

  it('are deleted with the account', async () => {
    const { user, home } = await withHome();
    const id = await storeReceipt(uswarm, home);
    await user.delete('/v1/auth/delete', {}, 204);
    expect(await uswarm.database.selectFrom('receipts').select('id').where('id', '=', id).execute()).toEqual([]);
  });

  describe('whose call has not ended', () => {
    it.each(['conversation', 'workspace'] as const)('become unknown after their %s was deleted', async (what) => {
      const { user, home } = await withHome();
      const id = await storeReceipt(uswarm, home, { status: 'sent', turnId: await startTurn(uswarm, user, home) });
      await user.delete(what === 'workspace' ? home.workspace : home.conversation, undefined, 204);
      await settle();
      const { jws, ...receipt } = (await user.get<{ data: Receipt }>(`${RECEIPTS}/${id}`)).body.data;
      expect(receipt).toMatchObject({ status: 'unknown', outcome: expect.stringContaining('It is not known') });
      expect((await verifyReceiptSignature(jws ?? '', await keys())).payload).toEqual(receipt);
    });

    it.each(['queued', 'running'] as const)('stay if their turn is %s', async (status) => {
      const { user, home } = await withHome();
      const turnId = await startTurn(uswarm, user, home);
      await uswarm.database.updateTable('turns').set({ status }).where('id', '=', turnId).execute();
      const id = await storeReceipt(uswarm, home, { status: 'sent', turnId });
      await settle();
      expect(await statusOf(user, id)).toBe('sent');
    });

    it.each(['done', 'failed', 'stopped'] as const)('become unknown if their turn is %s', async (status) => {
      const { user, home } = await withHome();
      const turnId = await startTurn(uswarm, user, home);
      await uswarm.database.updateTable('turns').set({ status }).where('id', '=', turnId).execute();
      const id = await storeReceipt(uswarm, home, { status: 'sent', turnId });
      await settle();
      expect(await statusOf(user, id)).toBe('unknown');
    });

    it('are all settled, also if there are more than one page', async () => {
      const { user, home } = await withHome();
      for (let n = 0; n < 45; n += 1) await storeReceipt(uswarm, home, { status: 'sent' });
      expect(await settle()).toBe(0);
      const statuses = (await read(user, '?limit=50')).data.map(({ status }) => status);
      expect(statuses).toEqual(Array.from({ length: 45 }, () => 'unknown'));
    });
  });

  it('are signed again after an operator removed the signatures of a leaked key', async () => {
    const { user, home } = await withHome();
    const id = await storeReceipt(uswarm, home);
    const before = first((await read(user)).data);
    await sql`UPDATE receipts SET kid = NULL, jws = NULL WHERE id = ${id}`.execute(uswarm.database);
    await settle();
    expect(await read(user)).toMatchObject({ data: [before] });
  });
});

describe('the job for receipts', () => {
  it('ends a receipt whose turn disappeared, and signs it with the key of the orchestrator', async () => {
    const uswarm = await startTestOrchestrator({ environment: { UPKEEP_WORKERS: '1' } });
    try {
      const user = await uswarm.user();
      const home = await uswarm.home(user);
      const { keys } = (await uswarm.anonymous.get<ReceiptKeySet>('/v1/receipt-keys')).body;
      const id = await storeReceipt(uswarm, home, { status: 'sent' });
      await sql`UPDATE work SET run_at = now(), attempts = 0 WHERE kind = 'receipt-settling'`.execute(uswarm.database);
      const receipt = await eventually(async () => (await user.get<{ data: Receipt }>(`${RECEIPTS}/${id}`)).body.data, {
        until: ({ status }) => status !== 'sent',
      });
      expect(receipt.status).toBe('unknown');
      expect((await verifyReceiptSignature(receipt.jws ?? '', keys)).payload).toMatchObject({ id });
    } finally {
      await uswarm.close();
    }
  });
});
