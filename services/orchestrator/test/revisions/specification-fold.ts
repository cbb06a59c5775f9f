import type { Conversation, EventsAnswer, MessageData } from '@uswarm/contract';

/**
 * A client that takes the events literally: an object is added when it is created, replaced when it changes, and
 * removed when it is deleted. It knows no revisions.
 */
export class SpecificationFold {
  readonly #messages = new Map<string, MessageData>();
  readonly #conversations: Map<string, Conversation>;

  constructor(conversations: readonly Conversation[]) {
    this.#conversations = new Map(conversations.map((one) => [one.id, one]));
  }

  receive(events: EventsAnswer['events']): void {
    for (const event of events) if (!('skip' in event)) this.#apply(event.event, event.payload);
  }

  #apply(event: string, payload: Record<string, unknown>): void {
    const message = payload['message'] as MessageData;
    const conversation = payload['conversation'] as Conversation;
    if (event === 'message.new') this.#messages.set(message.id, message);
    else if (event === 'message.updated' && this.#messages.has(message.id)) this.#messages.set(message.id, message);
    else if (event === 'message.deleted') this.#messages.delete(String(payload['message_id']));
    else if (event === 'conversation.new') this.#conversations.set(conversation.id, conversation);
    else if (event === 'conversation.deleted') this.#delete(String(payload['conversation_id']));
  }

  #delete(conversationId: string): void {
    this.#conversations.delete(conversationId);
    for (const { id, conversation_id: of } of this.#messages.values())
      if (of === conversationId) this.#messages.delete(id);
  }

  get conversationIds(): string[] {
    return [...this.#conversations.keys()].toSorted();
  }

  get messages(): MessageData[] {
    return [...this.#messages.values()];
  }
}
