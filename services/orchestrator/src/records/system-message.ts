import { randomUUIDv7 } from 'node:crypto';
import type { Transaction } from '../platform/database/database.js';
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
