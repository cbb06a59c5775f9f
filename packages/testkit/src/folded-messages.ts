import type { MessageData } from '@uswarm/contract';
import type { SeenEvent } from './test-client.js';

type Revised = MessageData & { rev: number };

/**
 * A conversation's messages in their order, as a client knows them from events alone. By the API's rule, an object
 * replaces a copy only if its `rev` is higher, and nothing returns after its deletion.
 */
export function foldedMessages(events: readonly SeenEvent[], conversationId: string): MessageData[] {
  const messages = new Map<string, Revised>();
  const deleted = new Set<string>();
  for (const { name, payload } of events) {
    if (name === 'message.deleted') {
      deleted.add(String(payload['message_id']));
      messages.delete(String(payload['message_id']));
    }
    if (name !== 'message.new' && name !== 'message.updated') continue;
    const message = payload['message'] as Revised;
    const known = messages.get(message.id);
    if (!deleted.has(message.id) && (known === undefined || message.rev > known.rev)) messages.set(message.id, message);
  }
  return [...messages.values()]
    .filter((message) => message.conversation_id === conversationId)
    .toSorted((a, b) => (a.position < b.position ? -1 : 1));
}
