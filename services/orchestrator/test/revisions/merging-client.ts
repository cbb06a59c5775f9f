import type { Conversation, MessageData, ServerEventPayload, Workspace } from '@uswarm/contract';
import { previewText } from '../../src/workspaces/workspace-view.js';

/** A client receives these in any order and any number of times: a durable event, or an object in a response. */
export type Received =
  | { event: string; payload: Record<string, unknown> }
  | { workspace: Workspace }
  | { conversation: Conversation }
  | { message: MessageData };

/** A value with its object's revision. */
class Field<Value> {
  rev = -1;
  value: Value | undefined;

  merge(rev: number, value: Value): void {
    if (rev <= this.rev) return;
    this.rev = rev;
    this.value = value;
  }
}

class ConversationCopy {
  readonly object = new Field<Pick<Conversation, 'type' | 'last_read_message_id'>>();
  readonly title = new Field<string>();
  readonly unread = new Field<number>();
}

/** Everything that a client shows, except fields that `rev` does not cover. */
export interface Shown {
  workspace: { rev: number; name: string; unread: number; phase: string; preview: string | null };
  conversations: Record<
    string,
    { rev: number; title: string; unread: number; lastRead: string | null; last: string | null }
  >;
  messages: Record<string, unknown>;
}

/** A client that merges by the documented rule: a copy is only replaced by one with a higher `rev`. */
export class MergingClient {
  readonly #workspace = new Field<Workspace>();
  readonly #unread = new Field<number>();
  readonly #conversations = new Map<string, ConversationCopy>();
  readonly #messages = new Map<string, MessageData>();
  readonly #deleted = new Set<string>();

  receive(received: Received): void {
    if ('workspace' in received) this.#mergeWorkspace(received.workspace);
    else if ('conversation' in received) this.#mergeConversation(received.conversation);
    else if ('message' in received) this.#mergeMessage(received.message);
    else this.#apply(received.event, received.payload);
  }

  #apply(event: string, payload: Record<string, unknown>): void {
    switch (event) {
      case 'message.new':
      case 'message.updated':
      case 'message.done': {
        const changed = payload as unknown as ServerEventPayload<'message.new'> & { conversation_id?: string };
        const { message, conversation, workspace } = changed;
        if (event !== 'message.done') this.#mergeMessage(message);
        const conversationId = changed.conversation_id ?? message.conversation_id;
        if (conversation !== undefined && !this.#deleted.has(conversationId)) {
          const copy = this.#copy(conversationId);
          copy.title.merge(conversation.rev, conversation.title);
          copy.unread.merge(conversation.rev, conversation.unread_count);
        }
        if (workspace !== undefined) this.#unread.merge(workspace.rev, workspace.unread_count);
        return;
      }
      case 'message.deleted':
        this.#delete((payload as unknown as ServerEventPayload<'message.deleted'>).message_id);
        return;
      case 'conversation.deleted': {
        const deleted = payload as unknown as ServerEventPayload<'conversation.deleted'>;
        this.#delete(deleted.conversation_id);
        if (deleted.workspace !== undefined) this.#mergeWorkspace(deleted.workspace);
        return;
      }
      case 'conversation.new':
      case 'conversation.updated':
        this.#mergeConversation(payload['conversation'] as Conversation);
        return;
      case 'workspace.updated':
        this.#mergeWorkspace(payload['workspace'] as Workspace);
        return;
      default:
        throw new Error(`the event ${event} is unknown`);
    }
  }

  #delete(id: string): void {
    this.#deleted.add(id);
    this.#messages.delete(id);
    this.#conversations.delete(id);
    for (const message of this.#messages.values()) {
      if (message.conversation_id === id) this.#messages.delete(message.id);
    }
  }

  #copy(id: string): ConversationCopy {
    const copy = this.#conversations.get(id) ?? new ConversationCopy();
    this.#conversations.set(id, copy);
    return copy;
  }

  #mergeWorkspace(workspace: Workspace): void {
    this.#workspace.merge(revOf(workspace), workspace);
    this.#unread.merge(revOf(workspace), workspace.unread_count);
  }

  #mergeConversation(conversation: Conversation): void {
    if (conversation.last_message !== null) this.#mergeMessage(conversation.last_message);
    if (this.#deleted.has(conversation.id)) return;
    const copy = this.#copy(conversation.id);
    copy.object.merge(revOf(conversation), conversation);
    copy.title.merge(revOf(conversation), conversation.title);
    copy.unread.merge(revOf(conversation), conversation.unread_count);
  }

  #mergeMessage(message: MessageData): void {
    if (this.#deleted.has(message.id) || this.#deleted.has(message.conversation_id)) return;
    const known = this.#messages.get(message.id);
    if (known === undefined || revOf(known) < revOf(message)) this.#messages.set(message.id, message);
  }

  /** Last messages and the preview follow from the messages. */
  shown(): Shown {
    const workspace = this.#workspace.value;
    if (workspace === undefined) throw new Error('the client has no workspace');
    const messages = [...this.#messages.values()].toSorted((a, b) => (a.position < b.position ? 1 : -1));
    const lastOf = (id: string) =>
      messages.find((one) => one.conversation_id === id && one.content.type !== 'tool_status');
    const previewed = messages.find(({ content }) => content.type !== 'tool_status' && content.type !== 'loading');
    return {
      workspace: {
        rev: Math.max(this.#workspace.rev, this.#unread.rev),
        name: workspace.name,
        unread: this.#unread.value ?? 0,
        phase: workspace.runtime.phase,
        preview: previewed === undefined ? null : previewText(previewed.content),
      },
      conversations: Object.fromEntries(
        [...this.#conversations].map(([id, { object, title, unread }]) => [
          id,
          {
            rev: Math.max(object.rev, title.rev),
            title: title.value ?? '',
            unread: unread.value ?? 0,
            lastRead: object.value?.last_read_message_id ?? null,
            last: lastOf(id)?.id ?? null,
          },
        ]),
      ),
      messages: Object.fromEntries(messages.map((message) => [message.id, shownMessage(message)])),
    };
  }
}

/** Converts REST API responses to the same form. */
export function shownBy(
  workspace: Workspace,
  conversations: readonly Conversation[],
  messages: readonly MessageData[],
): Shown {
  return {
    workspace: {
      rev: revOf(workspace),
      name: workspace.name,
      unread: workspace.unread_count,
      phase: workspace.runtime.phase,
      preview: workspace.runtime.last_message_preview?.text ?? null,
    },
    conversations: Object.fromEntries(
      conversations.map((one) => [
        one.id,
        {
          rev: revOf(one),
          title: one.title,
          unread: one.unread_count,
          lastRead: one.last_read_message_id,
          last: one.last_message?.id ?? null,
        },
      ]),
    ),
    messages: Object.fromEntries(messages.map((message) => [message.id, shownMessage(message)])),
  };
}

const revOf = ({ rev = 0 }: { rev?: number | undefined }): number => rev;

/**
 * Hides the agent's status and avatar. The status belongs to the time of the event or response, and `agent.status`
 * reports changes. The avatar address depends on who renders a message.
 */
export const shownMessage = ({ agent, ...message }: MessageData) => ({
  ...message,
  agent: agent && { ...agent, status: 'online', avatar: '' },
});
