import { randomUUIDv7 } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { MessageContent, MessageData, Receipt, ReceiptKeySet } from '@uswarm/contract';
import { verifyReceiptSignature } from '@uswarm/service-kit';
import { z } from 'zod';
import { MAIL, startTurn, storeReceipt } from '../../../test/receipts.js';
import { settleReceipts } from '../../../test/settle-receipts.js';
import { createStores, type Stores } from '../../../test/stores.js';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';
import { createWithTransaction } from '../../platform/database/transaction.js';
import { succeeded } from '../tools/outcomes.js';
import { defineExternalTool, type ToolOutcome, UncertainOutcome } from '../tools/platform-tool.js';
import { NO_PUSH } from '../../records/push-jobs.js';
import { createTurnLeftovers } from '../writer/turn-ending.js';
import { callKey, createTurnMessages } from '../content/turn-messages.js';
import { getTurn } from '../turns.store.js';

const FOUND = succeeded('Sent the mail 7.');
const MINUTE_MS = 60_000;

describe('a call that was sent and has no outcome when its turn ends', () => {
  let uswarm: TestOrchestrator;
  let stores: Stores;
  let user: TestUser;
  let home: Home;
  let receiptId: string;
  let turnId: string;
  let asked: string[];
  let answer: () => Promise<ToolOutcome | undefined>;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
    stores = createStores(uswarm.database);
  });
  afterAll(() => uswarm.close());

  beforeEach(async () => {
    await uswarm.database.deleteFrom('receipts').execute();
    asked = [];
    answer = () => Promise.resolve(FOUND);
    user = await uswarm.user();
    home = await uswarm.home(user);
    turnId = await startTurn(uswarm, user, home);
    receiptId = await storeReceipt(uswarm, home, { status: 'sent', turnId });
    await showLine();
  });

  const withTransaction = () => createWithTransaction(uswarm.database);
  const turn = async () => (await getTurn(stores.database, turnId))!;
  const callId = async () => (await receipt()).call_id;
  const receipt = async () => (await user.get<{ data: Receipt }>(`/v1/receipts/${receiptId}`)).body.data;

  async function showLine(): Promise<void> {
    const line = { type: 'tool_status', tool: 'send_mail', description: 'Sending “Lunch”', state: 'running' } as const;
    const [shown, key] = [createTurnMessages(stores, await turn()), callKey(await callId())];
    await withTransaction()((tx) => shown.tool(key, line, undefined, tx));
  }

  async function shownLine(): Promise<MessageContent | undefined> {
    const { body } = await user.get<{ data: MessageData[] }>(home.messages);
    return body.data.map(({ content }) => content).find(({ type }) => type === 'tool_status');
  }

  async function endTurn(): Promise<void> {
    const leftovers = createTurnLeftovers({ ...stores, push: NO_PUSH }, await turn());
    await withTransaction()(async (tx) => {
      await leftovers.endTools(tx);
      await tx.updateTable('turns').set({ status: 'stopped' }).where('id', '=', turnId).execute();
    });
  }

  const tool = defineExternalTool({
    name: 'send_mail',
    description: '',
    switchedBy: 'gmail',
    effect: 'once',
    input: z.looseObject({ subject: z.string() }),
    describe: ({ subject }) => `Sending “${subject}”`,
    plan: () => Promise.reject(new Error('planned')),
    send: () => Promise.reject(new Error('sent')),
    lookUp: async (_input, key) => {
      asked.push(key);
      return answer();
    },
  });

  /** @returns the number of calls that must be looked up again */
  const settle = ({ connection, ...more }: { afterMs?: number; connection?: string } = {}) =>
    settleReceipts(stores, {
      tools: [tool],
      connection: async () => connection,
      withTransaction: withTransaction(),
      ...more,
    });

  const DONE = { type: 'tool_status', tool: 'send_mail', description: 'Sending “Lunch”', state: 'completed' };
  const UNKNOWN = {
    ...DONE,
    description: 'It is not known whether this was executed: Sending “Lunch”',
    state: 'failed',
  };

  it('is looked up, and its receipt and its line show what became of it', async () => {
    await endTurn();
    expect([(await receipt()).status, await shownLine()]).toEqual(['sent', UNKNOWN]);
    expect(await settle()).toBe(0);
    const { jws, ...ended } = await receipt();
    expect(ended).toMatchObject({ status: 'succeeded', outcome: FOUND.text, arguments: MAIL });
    const { keys } = (await uswarm.anonymous.get<ReceiptKeySet>('/v1/receipt-keys')).body;
    expect((await verifyReceiptSignature(jws ?? '', keys)).payload).toEqual(ended);
    expect(await shownLine()).toEqual(DONE);
    expect(asked).toEqual(['<k@uswarm>']);
  });

  it('makes the job of receipts due with the end of the turn', async () => {
    const job = { kind: 'receipt-settling', subjectId: randomUUIDv7(), workspaceId: home.workspaceId };
    const row = () =>
      uswarm.database.selectFrom('work').select('run_at').where('kind', '=', job.kind).executeTakeFirstOrThrow();
    await uswarm.database
      .updateTable('work')
      .set({ run_at: new Date(Date.now() + MINUTE_MS) })
      .where('kind', '=', job.kind)
      .execute();
    await endTurn();
    expect((await row()).run_at.getTime()).toBeLessThan(Date.now() + MINUTE_MS / 2);
  });

  it('is not looked up while its turn runs', async () => {
    expect(await settle()).toBe(0);
    expect([asked, (await receipt()).status]).toEqual([[], 'sent']);
  });

  it('is looked up again without a trace, and unknown a minute after it was sent', async () => {
    answer = () => Promise.resolve(undefined);
    await endTurn();
    expect(await settle()).toBe(1);
    expect((await receipt()).status).toBe('sent');
    expect(await settle({ afterMs: MINUTE_MS })).toBe(0);
    expect([(await receipt()).status, await shownLine()]).toEqual(['unknown', UNKNOWN]);
    expect(asked).toHaveLength(2);
  });

  it('is found although the other system cannot be asked for half an hour', async () => {
    answer = () => Promise.reject(new UncertainOutcome('there was no answer'));
    await endTurn();
    expect(await settle({ afterMs: 30 * MINUTE_MS })).toBe(1);
    expect((await receipt()).status).toBe('sent');
    answer = () => Promise.resolve(FOUND);
    expect(await settle({ afterMs: 31 * MINUTE_MS })).toBe(0);
    expect((await receipt()).status).toBe('succeeded');
  });

  it('is unknown if the other system cannot be asked for an hour', async () => {
    answer = () => Promise.reject(new UncertainOutcome('there was no answer'));
    await endTurn();
    expect(await settle({ afterMs: 60 * MINUTE_MS })).toBe(0);
    expect([(await receipt()).status, asked.length]).toEqual(['unknown', 1]);
  });

  it('is not looked up in another account', async () => {
    await endTurn();
    expect(await settle({ connection: randomUUIDv7() })).toBe(0);
    expect([(await receipt()).status, asked]).toEqual(['unknown', []]);
  });

  it('has a true receipt although its workspace was deleted', async () => {
    await endTurn();
    await user.delete(home.workspace, undefined, 204);
    expect(await settle()).toBe(0);
    expect((await receipt()).status).toBe('succeeded');
  });
});
