import type { Client, components, MessageData } from '@uswarm/client';

export type OpenCard = components['schemas']['OpenCard'];
export interface OpenCards {
  subscribe(listener: () => void): () => void;
  /** From all workspaces, oldest first. */
  getSnapshot(): OpenCard[];
}
type Source = Pick<Client, 'api' | 'on' | 'connection'>;
interface AnyEvent {
  workspace_id?: string;
  conversation_id?: string;
  message_id?: string;
  message?: MessageData;
}

/** True if the message asks for a decision that is still possible. */
export const isOpenCard = ({ content, error }: Pick<MessageData, 'content' | 'error'>): boolean =>
  content.type === 'action_card' && 'actions' in content && !content.selected_action_id && error === null;

/** @returns why a decision is no longer possible */
export function closedText({ content, error }: Pick<MessageData, 'content' | 'error'>): string {
  const end = 'expires_at' in content && content.expires_at ? Date.parse(content.expires_at) : undefined;
  if (error?.code !== 'withdrawn' || end === undefined) return error?.message ?? '';
  return end <= Date.now() ? 'This expired without a decision.' : 'This was withdrawn without a decision.';
}

async function loadAll(api: Source['api']): Promise<OpenCard[]> {
  const cards: OpenCard[] = [];
  let scrollId: string | undefined;
  do {
    const { data, pagination } = await api.get('/v1/open-cards', {
      query: { limit: 100, ...(scrollId !== undefined && { scrollId }) },
    });
    cards.push(...data);
    scrollId = pagination.next_scroll_id ?? undefined;
  } while (scrollId !== undefined);
  return cards;
}

/**
 * Loads the cards when the connection goes live, after a subscription, and after each event that can change them: only
 * the service knows the rules.
 */
export function createOpenCards(client: Source): OpenCards {
  const listeners = new Set<() => void>();
  let shown: OpenCard[] = [];
  let [isLoading, isOutdated] = [false, false];

  async function load(): Promise<void> {
    isOutdated = true;
    if (isLoading) return;
    isLoading = true;
    while (isOutdated) {
      isOutdated = false;
      // After a failure, the next event or connection loads them.
      shown = await loadAll(client.api).catch(() => shown);
    }
    isLoading = false;
    for (const listener of listeners) listener();
  }
  const concerns = (name: string, event: AnyEvent): boolean => {
    const { message, message_id: id = message?.id, conversation_id: conversation = message?.conversation_id } = event;
    // Changes before a subscription or a resync have no events.
    if (message?.content.type === 'action_card' || /^workspace\.(?:subscribed|resync)$/.test(name)) return true;
    // A deletion, or a user message, which answers questions.
    const isEnd = name.endsWith('.deleted') || (name === 'message.new' && message?.role === 'user');
    const isOf = (card: OpenCard): boolean =>
      card.message.id === id || card.message.conversation_id === conversation || name === 'workspace.deleted';
    return isEnd && (isLoading || shown.some(isOf));
  };

  client.on('*', (payload, name) => void (concerns(name, payload as AnyEvent) && load()));
  client.connection.subscribe(() => void (client.connection.get().state === 'live' && load()));
  return {
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    getSnapshot: () => shown,
  };
}
