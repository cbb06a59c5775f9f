import { randomUUIDv7 } from 'node:crypto';
import type { Transaction } from '../../database/database.js';
import type { EventStore } from '../events/events.store.js';
import type { MessageStore, NewMessage } from './messages.store.js';

export interface SystemMessageDeps {
  messages: { insert(...message: Parameters<MessageStore['insert']>): Promise<unknown> };
  events: Pick<EventStore, 'append'>;
}

/** `turn`: the turn that writes the message, and its key */
export interface SystemMessage extends Pick<NewMessage, 'workspaceId' | 'conversationId' | 'turn'> {
  text: string;
}

/** Stores a message of the platform, and its event. */
export async function insertSystemMessage(
  { messages, events }: SystemMessageDeps,
  { text, ...message }: SystemMessage,
  tx: Transaction,
): Promise<{ id: string; seq: number }> {
  const id = randomUUIDv7();
  const seq = await events.append({ workspaceId: message.workspaceId, type: 'message.new', subjectId: id }, tx);
  const content = { type: 'system', text } as const;
  await messages.insert({ id, ...message, seq, role: 'system', content, status: 'delivered' }, tx);
  return { id, seq };
}
