import type { Client, Conversation, MessageData } from '@uswarm/client';

/** A card that waits for the user. */
export interface OpenCard {
  workspaceId: string;
  message: MessageData;
}
export interface OpenCards {
  subscribe(listener: () => void): () => void;
  /** Oldest first. */
  getSnapshot(): OpenCard[];
}
type Source = Pick<Client, 'api' | 'on' | 'workspaces' | 'workspace'>;

/** Cards expire within a day, so that older conversations have none; more conversations are rarely active in a day. */
const [ACTIVE_MS, ACTIVE_COUNT] = [24 * 60 * 60 * 1000, 5];

/** Whether the message asks the user for a decision that is still possible. */
export const isOpenCard = ({ content, error }: Pick<MessageData, 'content' | 'error'>): boolean =>
  content.type === 'action_card' && 'actions' in content && !content.selected_action_id && error === null;

/** Collects the cards of all workspaces: from the active conversations when the page is opened, then from events. */
export function createOpenCards(client: Source): OpenCards {
  const listeners = new Set<() => void>();
  const known = new Map<string, OpenCard>();
  const [followed, loaded] = [new Set<string>(), new Set<string>()];
  let shown: OpenCard[] = [];

  function show(): void {
    const open = [...known.values()].filter(({ message }) => isOpenCard(message));
    open.sort((a, b) => (a.message.created_at < b.message.created_at ? -1 : 1));
    if (open.length === shown.length && open.every(({ message }, at) => message === shown[at]?.message)) return;
    shown = open;
    for (const listener of listeners) listener();
  }
  function put(workspaceId: string, message: MessageData): void {
    const { id, rev = 0, content, truncated } = message;
    if (content.type !== 'action_card' || truncated || (known.get(id)?.message.rev ?? -1) > rev) return;
    known.set(id, { workspaceId, message });
  }
  function drop(fits: (card: OpenCard) => boolean): void {
    for (const [id, card] of known) if (fits(card)) known.delete(id);
  }
  async function load(workspaceId: string, conversations: Conversation[]): Promise<void> {
    loaded.add(workspaceId);
    const after = Date.now() - ACTIVE_MS;
    const active = conversations.filter(({ updated_at: at }) => Date.parse(at) > after).slice(0, ACTIVE_COUNT);
    const route = '/v1/workspaces/{workspaceId}/conversations/{id}/messages';
    for (const { id } of active) {
      const page = await client.api.get(route, { path: { workspaceId, id } }).catch(() => undefined);
      for (const message of page?.data ?? []) put(workspaceId, message);
    }
    show();
  }
  function follow(): void {
    const ids = new Set(client.workspaces.get().map(({ id }) => id));
    drop(({ workspaceId }) => !ids.has(workspaceId));
    for (const id of ids) {
      const { conversations: signal } = client.workspace(id);
      const conversations = signal.get();
      const isNew = !followed.has(id);
      followed.add(id);
      if (isNew) signal.subscribe(follow);
      if (conversations.length > 0 && !loaded.has(id)) void load(id, conversations);
      for (const { last_message: last } of conversations) if (last !== null) put(id, last);
    }
    show();
  }

  client.on('*', (payload, name) => {
    const event = payload as {
      workspace_id?: string;
      message?: MessageData;
      message_id?: string;
      conversation_id?: string;
    };
    if (event.message && event.workspace_id) put(event.workspace_id, event.message);
    if (name === 'message.deleted') drop(({ message }) => message.id === event.message_id);
    if (name === 'conversation.deleted') drop(({ message }) => message.conversation_id === event.conversation_id);
    show();
  });
  client.workspaces.subscribe(follow);
  return {
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    getSnapshot: () => shown,
  };
}
