import { randomUUIDv7 } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ReceiptStatus } from '@uswarm/contract';
import { createReceiptSigner, generateCallKeys, verifyReceiptSignature } from '@uswarm/service-kit';
import fc from 'fast-check';
import { z } from 'zod';
import { insertMessages, insertWorkspaces } from '../../../test/bulk-data.js';
import { createMigratedDatabase, type MigratedDatabase } from '../../../test/database.js';
import { settleReceipts } from '../../../test/settle-receipts.js';
import { createStores } from '../../../test/stores.js';
import { insertTurnContext } from '../../../test/turn-context.js';
import { createJobQueue } from '../../platform/jobs/job-queue.js';
import { succeeded } from '../tools/outcomes.js';
import { defineExternalTool, type ToolOutcome } from '../tools/platform-tool.js';
import { resumeTurn } from '../turns.store.js';
import { createReceiptLog, type ReceiptLog } from './receipt-log.js';

const EVENTS = [
  'a turn starts',
  'a call is sent',
  'a call ends',
  'a turn ends',
  'a turn ends without its calls',
  'a turn is deleted',
  'a turn continues another',
  'receipts are settled',
] as const;
type Event = (typeof EVENTS)[number];

/** A tool whose requests can only be looked up. */
const mailTool = (lookUp: (input: { n: number }) => Promise<ToolOutcome | undefined>) => {
  const unexpected = () => Promise.reject(new Error('a call that its turn has left is not sent'));
  const texts = { name: 'send_mail', description: '', switchedBy: 'gmail', describe: () => 'Sending a mail' };
  return defineExternalTool({
    ...texts,
    effect: 'once',
    input: z.object({ n: z.number() }),
    plan: unexpected,
    send: unexpected,
    lookUp,
  });
};

interface ModelReceipt {
  callId: string;
  turnId: string;
  status: ReceiptStatus;
}

describe('the log of receipts', () => {
  const signers = [0, 1].map(() => createReceiptSigner(generateCallKeys().privateKey));
  let db: MigratedDatabase;
  let logs: ReceiptLog[];
  let place: { userId: string; workspaceId: string; conversationId: string; agentId: string; messageId: string };
  beforeAll(async () => {
    db = await createMigratedDatabase();
    await insertWorkspaces(db.database, 1);
    await insertMessages(db.database, 1);
    const jobs = createJobQueue(db.database);
    logs = signers.map((signer) => createReceiptLog({ database: db.database, signer, jobs }));
    place = await db.database
      .selectFrom('messages as m')
      .innerJoin('workspaces as w', 'w.id', 'm.workspace_id')
      .innerJoin('agents as a', 'a.workspace_id', 'w.id')
      .select(['w.owner_id as userId', 'w.id as workspaceId', 'm.conversation_id as conversationId'])
      .select(['a.id as agentId', 'm.id as messageId'])
      .executeTakeFirstOrThrow();
  });
  afterAll(() => db.close());

  async function startTurn(): Promise<string> {
    const { workspaceId, conversationId, agentId, messageId } = place;
    const id = randomUUIDv7();
    const row = { id, workspace_id: workspaceId, conversation_id: conversationId, agent_id: agentId };
    await db.database
      .insertInto('turns')
      .values({ ...row, user_message_id: messageId, status: 'running' })
      .execute();
    return id;
  }
  async function send(log: ReceiptLog, turnId: string): Promise<string> {
    const id = randomUUIDv7();
    const receipt = { tool: 'send_mail', effect: 'once', arguments: { n: 1 }, key: 'k' } as const;
    await log.insert({ call: { ...place, id, turnId }, ...receipt, argumentsHash: Buffer.alloc(32) }, db.database);
    return id;
  }
  const rows = () => db.database.selectFrom('receipts').select(['call_id', 'status', 'jws']).execute();
  /** Settles calls as if a lookup found the matching requests, at a time when no other one can still be found. */
  const settle = (log: ReceiptLog, found: (input: unknown) => boolean = () => false) => {
    const lookUp = async ({ n }: { n: number }) => (found(n) ? succeeded('Sent.') : undefined);
    const { withTransaction } = db;
    const tools = [mailTool(lookUp)];
    return settleReceipts(createStores(db.database), { receipts: log, tools, withTransaction, afterMs: 3_600_000 });
  };

  /** An impossible event does nothing. */
  async function apply(event: Event, pick: number, turns: Map<string, string>, receipts: ModelReceipt[]) {
    const log = logs[pick % 2]!;
    const withStatus = (status: string) => [...turns].filter(([, each]) => each === status).map(([id]) => id);
    const oneOf = <Item>(items: readonly Item[]): Item | undefined => items[pick % Math.max(1, items.length)];
    const running = oneOf(withStatus('running'));
    const setStatus = async (id: string, status: 'done' | 'failed') => {
      await db.database.updateTable('turns').set({ status }).where('id', '=', id).execute();
      turns.set(id, 'ended');
    };
    switch (event) {
      case 'a turn starts':
        return void turns.set(await startTurn(), 'running');
      case 'a call is sent':
        if (running === undefined) return;
        return void receipts.push({ callId: await send(log, running), turnId: running, status: 'sent' });
      case 'a call ends': {
        // May have ended already.
        const call = oneOf(receipts.filter(({ turnId }) => turns.get(turnId) === 'running'));
        if (call === undefined) return;
        const status = (['succeeded', 'failed', 'unknown'] as const)[pick % 3]!;
        await log.finish(call.turnId, call.callId, { status, outcome: 'It ended.' }, db.database);
        if (call.status === 'sent') call.status = status;
        return;
      }
      case 'a turn ends':
        if (running === undefined) return;
        await log.leave(running, db.database);
        return await setStatus(running, 'done');
      case 'a turn ends without its calls':
        return running === undefined ? undefined : await setStatus(running, 'failed');
      case 'a turn is deleted':
        if (running === undefined) return;
        await db.database.deleteFrom('turns').where('id', '=', running).execute();
        return void turns.delete(running);
      case 'a turn continues another': {
        const ended = oneOf(withStatus('ended'));
        if (ended === undefined) return;
        const next = await startTurn();
        await insertTurnContext(db.database, ended);
        await resumeTurn(db.database, next, ended);
        for (const each of receipts) if (each.turnId === ended) each.turnId = next;
        return void turns.set(next, 'running');
      }
      case 'receipts are settled': {
        const isFound = pick % 3 === 0;
        await settle(log, () => isFound);
        for (const each of receipts)
          if (each.status === 'sent' && turns.get(each.turnId) !== 'running')
            each.status = isFound ? 'succeeded' : 'unknown';
      }
    }
  }

  it('signs every receipt once when its call ends, and looks up calls that no turn continues', async () => {
    const events = fc.array(fc.tuple(fc.constantFrom(...EVENTS), fc.nat(100)), { minLength: 5, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(events, async (schedule) => {
        await db.database.deleteFrom('receipts').execute();
        await db.database.deleteFrom('turns').execute();
        const turns = new Map<string, string>();
        const receipts: ModelReceipt[] = [];
        const signatures = new Map<string, string>();
        for (const [event, pick] of [...schedule, ['receipts are settled', 0] as const]) {
          await apply(event, pick, turns, receipts);
          const stored = await rows();
          const byCall = new Map(stored.map(({ call_id, status }) => [call_id, status]));
          expect(byCall).toEqual(new Map(receipts.map(({ callId, status }) => [callId, status])));
          for (const { call_id, status, jws } of stored) {
            expect(jws === null).toBe(status === 'sent');
            if (jws === null) continue;
            expect(signatures.get(call_id) ?? jws).toBe(jws);
            signatures.set(call_id, jws);
            expect((await verifyReceiptSignature(jws, signers)).payload).toMatchObject({ call_id, status });
          }
        }
        const open = receipts.filter(({ status }) => status === 'sent');
        expect(open.filter(({ turnId }) => turns.get(turnId) !== 'running')).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });

  it('ends and signs a receipt once although replicas settle it while its turn ends it', async () => {
    for (let round = 0; round < 10; round += 1) {
      await db.database.deleteFrom('receipts').execute();
      const turnId = await startTurn();
      for (let n = 0; n < 5; n += 1) await send(logs[0]!, turnId);
      await Promise.all([
        db.withTransaction(async (tx) => {
          await logs[0]!.leave(turnId, tx);
          await tx.updateTable('turns').set({ status: 'done' }).where('id', '=', turnId).execute();
        }),
        settle(logs[0]!),
        settle(logs[1]!),
      ]);
      await settle(logs[1]!);
      const stored = await rows();
      expect(stored.map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 'unknown'));
      for (const { jws } of stored) await verifyReceiptSignature(jws ?? '', signers);
    }
  });
});
