import { io, type Socket } from 'socket.io-client';

/** The specified message fields, as far as they are shown. */
interface Message {
  id: string;
  conversation_id: string;
  role: string;
  content: { type: string; text?: string; actions?: { id: string }[]; selected_action_id?: string | null };
  status: string;
}

/** A message as the user sees it. */
export interface Bubble {
  id: string;
  role: string;
  type: string;
  text: string;
}

export interface SpecificationClient {
  /** Opens a conversation with the swarm. @returns its id */
  open(): Promise<string>;
  send(conversationId: string, text: string): Promise<void>;
  /** Chooses an action on the last card that waits for a decision. @returns false if none waits */
  choose(conversationId: string, action: number): Promise<boolean>;
  /** The visible messages, in arrival order. */
  shown(conversationId: string): Bubble[];
  /** Loads the messages as a client that opens the conversation now. */
  listed(conversationId: string): Promise<Bubble[]>;
  /** Faults that were visible when an event arrived. */
  faults(conversationId: string): string[];
  /** The number of `message.done` of each message. */
  ends(conversationId: string): Record<string, number>;
  /** The messages that show that an agent is still about to write. */
  unfinished(conversationId: string): string[];
  api(method: string, path: string, body?: unknown): Promise<{ data: never }>;
  readonly workspaceId: string;
  /** The number of connections so far. */
  readonly connects: number;
  close(): void;
}

const bubble = ({ id, role, content }: Message): Bubble => ({ id, role, type: content.type, text: content.text ?? '' });

const isEmptyBubble = ({ role, content, status }: Message): boolean =>
  role === 'agent' && content.type === 'text' && (content.text ?? '').trim() === '' && status !== 'pending';

/** A client that knows nothing but the API specification: its routes, events and fields, and no revision order. */
export async function startSpecificationClient(
  { restUrl, socketUrl }: { restUrl: string; socketUrl: string },
  token: string,
): Promise<SpecificationClient> {
  const headers = { 'x-token': token, 'content-type': 'application/json' };
  async function api(method: string, path: string, body?: unknown): Promise<{ data: never }> {
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const response = await fetch(`${restUrl}${path}`, init);
    if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}`);
    const text = await response.text();
    return (text === '' ? {} : JSON.parse(text)) as { data: never };
  }
  await api('POST', '/v1/auth/sign-up');
  const [workspace] = (await api('GET', '/v1/workspaces')).data as { id: string }[];
  const workspaceId = workspace?.id ?? '';

  const messages = new Map<string, Message>();
  const faults: { conversationId: string; fault: string }[] = [];
  let connects = 0;
  const ends: { conversationId: string; messageId: string }[] = [];
  const socket: Socket = io(`${socketUrl}/v1`, { auth: headers, forceNew: true });
  const show = ({ message }: { message: Message }): void => {
    messages.set(message.id, message);
    if (isEmptyBubble(message)) faults.push({ conversationId: message.conversation_id, fault: `empty ${message.id}` });
  };
  socket.on('message.new', show);
  // The specification adds a message only when it is created.
  socket.on(
    'message.updated',
    (payload: { message: Message }) => void (messages.has(payload.message.id) && show(payload)),
  );
  socket.on('message.done', ({ message_id: id, conversation_id: conversationId }) => {
    ends.push({ conversationId, messageId: id });
    const { type, text } = messages.get(id)?.content ?? { type: 'none' };
    if (type !== 'text' || text === undefined || text.trim() === '')
      faults.push({ conversationId, fault: `the end of ${type}` });
  });
  socket.on('connect', () => (connects += 1));
  await new Promise<void>((resolve) => {
    socket.on('workspace.subscribed', () => resolve());
    socket.on('connect', () => socket.emit('workspace.subscribe', { workspace_ids: [workspaceId] }));
  });

  const of = (conversationId: string): Message[] =>
    [...messages.values()].filter((message) => message.conversation_id === conversationId);
  const path = `/v1/workspaces/${workspaceId}`;
  return {
    workspaceId,
    get connects() {
      return connects;
    },
    api,
    async open() {
      const { data } = await api('POST', `${path}/conversations`, { type: 'swarm', agent_id: null });
      return (data as { id: string }).id;
    },
    async send(conversationId, text) {
      const content = { type: 'text', text };
      await api('POST', `${path}/conversations/${conversationId}/messages`, {
        local_id: crypto.randomUUID(),
        content,
        attachments: [],
        mentions: [],
      });
    },
    async choose(conversationId, action) {
      const card = of(conversationId).findLast(
        ({ content, status }) =>
          content.type === 'action_card' && (content.selected_action_id ?? null) === null && status !== 'failed',
      );
      if (card === undefined) return false;
      await api('POST', `${path}/messages/${card.id}/action`, { action_id: card.content.actions?.[action]?.id });
      return true;
    },
    shown: (conversationId) => of(conversationId).map(bubble),
    async listed(conversationId) {
      const query = 'direction=forward&limit=100';
      const { data } = await api('GET', `${path}/conversations/${conversationId}/messages?${query}`);
      return (data as Message[]).map(bubble);
    },
    faults: (conversationId) => faults.filter((one) => one.conversationId === conversationId).map(({ fault }) => fault),
    ends(conversationId) {
      const counts: Record<string, number> = {};
      for (const { messageId, ...one } of ends)
        if (one.conversationId === conversationId) counts[messageId] = (counts[messageId] ?? 0) + 1;
      return counts;
    },
    unfinished: (conversationId) =>
      of(conversationId).flatMap(({ role, content, status }) =>
        content.type === 'loading' || (role === 'agent' && status === 'pending') ? [content.type] : [],
      ),
    close: () => void socket.disconnect(),
  };
}
