import { randomUUIDv7 } from 'node:crypto';
import type { MessageData, ReceiptStatus } from '@uswarm/contract';
import { callHash } from '../src/records/approval-card.js';
import { createStores } from './stores.js';
import { first, type Home, type TestOrchestrator, type TestUser } from './test-orchestrator.js';
import { insertReceipt } from '../src/turns/receipts/receipts.store.js';

export const MAIL = { to: ['bob@example.com'], subject: 'Lunch', body: 'Are you free on Tuesday?' };

/** @returns the turn's id */
export async function startTurn(
  { database }: Pick<TestOrchestrator, 'database'>,
  user: TestUser,
  { messages }: Pick<Home, 'messages'>,
): Promise<string> {
  const content = { type: 'text', text: 'Invite Bob to lunch' };
  const { body } = await user.post<{ data: MessageData }>(messages, { content }, 201);
  const { id } = await database
    .updateTable('turns')
    .set({ status: 'running' })
    .where('user_message_id', '=', body.data.id)
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

/** Stores a sent mail's receipt, as a turn does. @returns its id */
export async function storeReceipt(
  { database }: Pick<TestOrchestrator, 'database'>,
  { workspaceId, conversationId, agents }: Pick<Home, 'workspaceId' | 'conversationId' | 'agents'>,
  {
    status = 'succeeded',
    turnId = randomUUIDv7(),
    input = MAIL,
  }: { status?: ReceiptStatus; turnId?: string; input?: object } = {},
): Promise<string> {
  const { receipts } = createStores(database);
  const { owner_id: userId } = await database
    .selectFrom('workspaces')
    .select('owner_id')
    .where('id', '=', workspaceId)
    .executeTakeFirstOrThrow();
  const call = { id: randomUUIDv7(), turnId, workspaceId, conversationId, agentId: first(agents).id, userId };
  const argumentsHash = callHash('send_mail', input);
  const receipt = {
    call,
    tool: 'send_mail',
    effect: 'once',
    arguments: input,
    argumentsHash,
    key: '<k@uswarm>',
  } as const;
  await insertReceipt(database, receipt);
  if (status !== 'sent') await receipts.finish(turnId, call.id, { status, outcome: 'Sent the mail.' }, database);
  const { id } = await database
    .selectFrom('receipts')
    .select('id')
    .where('call_id', '=', call.id)
    .executeTakeFirstOrThrow();
  return id;
}
