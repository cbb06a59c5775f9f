import { randomUUIDv7 } from 'node:crypto';
import type { Database, Transaction } from '../platform/database/database.js';
import type { EventLog } from './event-log.js';
import type { AddedMessage } from './message-rows.js';

interface SystemMessageDeps {
  events: Pick<EventLog, 'addMessage'>;
}

/** `turn` writes the message. */
export interface SystemMessage extends Pick<AddedMessage, 'workspaceId' | 'conversationId' | 'turn'> {
  text: string;
}

export async function insertSystemMessage(
  { events }: SystemMessageDeps,
  { text, ...message }: SystemMessage,
  tx: Transaction,
): Promise<{ id: string; seq: number }> {
  const id = randomUUIDv7();
  const content = { type: 'system', text } as const;
  const seq = await events.addMessage({ id, ...message, role: 'system', content, status: 'delivered' }, tx);
  return { id, seq };
}

/** The workspace's conversation that changed last. */
async function latestConversation(db: Database, workspaceId: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('conversations')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .orderBy('updated_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.id;
}

/**
 * As `insertSystemMessage`, for what can have no conversation, such as a webhook: the message is in the workspace's
 * that changed last. Lock the workspace before.
 *
 * @returns undefined if the workspace has no conversation: the user sees the state in the list of webhooks or schedules
 */
export async function tellUser(
  deps: SystemMessageDeps,
  message: Omit<SystemMessage, 'conversationId'> & { conversationId: string | null },
  tx: Transaction,
): Promise<{ id: string; seq: number } | undefined> {
  const conversationId = message.conversationId ?? (await latestConversation(tx, message.workspaceId));
  return conversationId === undefined ? undefined : insertSystemMessage(deps, { ...message, conversationId }, tx);
}
