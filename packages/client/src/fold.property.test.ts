import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  createDraft,
  conversationsOf,
  copyOf,
  fold,
  messagesIn,
  putCopy,
  putMessage,
  type Records,
  swarmOf,
} from './fold.js';
import type { Conversation, MessageData, Workspace } from './gen/types.js';

const W = 'w1';
type Received =
  | { name: string; payload: object }
  | { message: MessageData }
  | { conversation: Conversation }
  | { workspace: Workspace };

/** A service that writes, and remembers everything that a client could receive of it. */
class Service {
  seq = 0;
  messages = new Map<string, MessageData>();
  conversations = new Map<string, Conversation>();
  workspace = { id: W, name: 'w', unread_count: 0, rev: 0, runtime: {} } as unknown as Workspace;
  received: Received[] = [];

  constructor() {
    for (const id of ['c1', 'c2'])
      this.putConversation('conversation.new', { id, title: '', unread_count: 0, last_read_message_id: null });
  }
  event(name: string, payload: object): void {
    this.received.push({ name, payload: { workspace_id: W, seq: this.seq, ...payload } });
  }
  putConversation(name: string, change: Partial<Conversation> & { id: string }): void {
    this.seq += 1;
    const none = { created_at: '2026-01-01', updated_at: '2026-01-01', last_message: null, agent: null };
    const conversation = { ...none, ...this.conversations.get(change.id), ...change, rev: this.seq } as Conversation;
    this.conversations.set(change.id, conversation);
    this.event(name, { conversation });
  }
  putMessage(id: string, conversationId: string, text: string | null): void {
    if (!this.conversations.has(conversationId)) return;
    const known = this.messages.get(id);
    this.seq += 1;
    const content = text === null ? { type: 'loading' } : { type: 'text', text };
    const position = known?.position ?? String(this.seq).padStart(6, '0');
    const fields = { id, conversation_id: known?.conversation_id ?? conversationId, content, position, rev: this.seq };
    const message = { role: 'agent', local_id: null, created_at: '2026-01-02', ...fields } as unknown as MessageData;
    this.messages.set(id, message);
    const conversation = this.conversations.get(message.conversation_id);
    if (conversation === undefined) return;
    // The part that an event about a message contains.
    const change = { rev: this.seq, title: text ?? conversation.title, unread_count: conversation.unread_count + 1 };
    this.conversations.set(conversation.id, { ...conversation, ...change });
    this.workspace = { ...this.workspace, rev: this.seq, unread_count: this.workspace.unread_count + 1 };
    const ofWorkspace = { rev: this.seq, unread_count: this.workspace.unread_count };
    const name = known === undefined ? 'message.new' : 'message.updated';
    this.event(name, { message, conversation: change, workspace: ofWorkspace });
  }
  deleteMessage(id: string): void {
    const message = this.messages.get(id);
    if (message === undefined) return;
    this.seq += 1;
    this.messages.delete(id);
    this.event('message.deleted', { message_id: id, conversation_id: message.conversation_id });
  }
  deleteConversation(id: string): void {
    if (!this.conversations.delete(id)) return;
    this.seq += 1;
    for (const message of this.messages.values()) if (message.conversation_id === id) this.messages.delete(message.id);
    this.workspace = { ...this.workspace, rev: this.seq };
    this.event('conversation.deleted', { conversation_id: id, workspace: this.workspace });
  }
  rename(name: string): void {
    this.seq += 1;
    this.workspace = { ...this.workspace, rev: this.seq, name };
    this.event('workspace.updated', { workspace: this.workspace });
  }
  /** REST responses; the last message of a list is truncated. */
  respond(): void {
    this.received.push({ workspace: this.workspace });
    for (const message of this.messages.values()) this.received.push({ message });
    for (const conversation of this.conversations.values()) {
      const last = this.last(conversation.id);
      const last_message = last && { ...last, content: { type: 'text' as const, text: '…' }, truncated: true };
      this.received.push({ conversation: { ...conversation, last_message } });
    }
  }
  last(conversationId: string): MessageData | null {
    const own = [...this.messages.values()].filter((one) => one.conversation_id === conversationId);
    return own.toSorted((a, b) => (a.position < b.position ? -1 : 1)).at(-1) ?? null;
  }
}

const id = fc.constantFrom('m1', 'm2', 'm3', 'm4');
const conversationId = fc.constantFrom('c1', 'c2');
const text = fc.option(fc.string({ maxLength: 3 }));
const write: fc.Arbitrary<(service: Service) => void> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(id, conversationId, text).map((given) => (service: Service) => service.putMessage(...given)),
  },
  id.map((given) => (service: Service) => service.deleteMessage(given)),
  fc.tuple(conversationId, id).map(([one, last_read_message_id]) => (service: Service) => {
    if (service.conversations.has(one))
      service.putConversation('conversation.updated', { id: one, last_read_message_id, unread_count: 0 });
  }),
  text.map((name) => (service: Service) => service.rename(name ?? '')),
  { weight: 1, arbitrary: conversationId.map((given) => (service: Service) => service.deleteConversation(given)) },
  fc.constant((service: Service) => service.respond()),
);

function receive(records: Records, received: Received): Records {
  const draft = createDraft(records);
  if ('message' in received) putMessage(draft, W, received.message);
  else if ('conversation' in received)
    putCopy(draft, `${W}/conversation/${received.conversation.id}`, received.conversation);
  else if ('workspace' in received) putCopy(draft, `workspaces/${W}`, received.workspace);
  else fold(draft, W, received.name, received.payload, 0);
  const next = new Map(records);
  for (const [key, value] of draft.changes)
    if (value === undefined) next.delete(key);
    else next.set(key, value);
  return next;
}
const shown = (records: Records) => ({
  workspace: copyOf(records.get(`workspaces/${W}`) as { full: Workspace }).map(({ name, unread_count }) => ({
    name,
    unread_count,
  })),
  messages: messagesIn(records, W).map(({ id: one, content, rev }) => ({ one, content, rev })),
  conversations: conversationsOf(records, W)
    .map(({ id: one, title, unread_count, last_read_message_id, last_message }) => ({
      one,
      title,
      unread_count,
      last_read_message_id,
      last: last_message?.id,
    }))
    .toSorted((a, b) => (a.one < b.one ? -1 : 1)),
  position: records.get(`${W}/position`),
});
const shownBy = (service: Service) => ({
  workspace: [{ name: service.workspace.name, unread_count: service.workspace.unread_count }],
  messages: [...service.messages.values()]
    .toSorted((a, b) => (a.position < b.position ? -1 : 1))
    .map(({ id: one, content, rev }) => ({ one, content, rev })),
  conversations: [...service.conversations.values()]
    .map(({ id: one, title, unread_count, last_read_message_id }) => ({
      one,
      title,
      unread_count,
      last_read_message_id,
      last: service.last(one)?.id,
    }))
    .toSorted((a, b) => (a.one < b.one ? -1 : 1)),
  position: { epoch: 'e', seq: service.seq },
});

describe('fold', () => {
  it('results in the state of the service, in whatever order and however often events and responses arrive', () => {
    fc.assert(
      fc.property(fc.array(write, { maxLength: 30 }), fc.infiniteStream(fc.nat()), (writes, numbers) => {
        const service = new Service();
        service.respond();
        // A message id is used once.
        let generation = 0;
        for (const one of writes) {
          const before = service.messages.size;
          one(service);
          if (service.messages.size < before) generation += 1;
          if (generation > 0) break;
        }
        service.respond();
        const shuffled = [...service.received, ...service.received]
          .map((one) => ({ one, order: numbers.next().value as number }))
          .toSorted((a, b) => a.order - b.order);
        const start: Records = new Map([[`${W}/position`, { epoch: 'e', seq: 0 }]]);
        expect(shown(shuffled.reduce((records, { one }) => receive(records, one), start))).toEqual(shownBy(service));
      }),
    );
  });

  it('changes only the position for an unknown event', () => {
    const records: Records = new Map([[`${W}/position`, { epoch: 'e', seq: 4 }]]);
    expect(
      receive(records, {
        name: 'message.applauded',
        payload: { workspace_id: W, seq: 7, message: { id: 'm1' }, workspace: 2 },
      }),
    ).toEqual(new Map([[`${W}/position`, { epoch: 'e', seq: 7 }]]));
  });

  it('keeps content of an unknown type as it is', () => {
    const service = new Service();
    service.putMessage('m1', 'c1', 'a');
    const content = { type: 'hologram', text: 'an old app shows this', depth: 3 } as never;
    const message = { ...service.messages.get('m1')!, content, rev: 99 };
    expect(messagesIn(receive(new Map(), { message }), W).map((one) => one.content)).toEqual([content]);
  });

  it('shows a beginning of the newest text, whichever chunks are lost, repeated or late', () => {
    const parts = fc.array(fc.string({ minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(parts, parts, fc.array(fc.nat()), (first, second, picks) => {
        const chunks = [first, second].flatMap((all, index) =>
          all.map((chunk, at) => ({
            generation: index + 1,
            chunk_seq: at + 1,
            chunk,
            offset: all.slice(0, at).join('').length,
          })),
        );
        let records: Records = new Map();
        let newest = 0;
        const play = (index: number): void => {
          const chunk = chunks[index % chunks.length]!;
          newest = Math.max(newest, chunk.generation);
          records = receive(records, {
            name: 'message.chunk',
            payload: { workspace_id: W, message_id: 'm1', ...chunk },
          });
          const stream = records.get(`${W}/~stream/m1`) as { text: string } | undefined;
          expect((newest === 2 ? second : first).join('').startsWith(stream?.text ?? '')).toBe(true);
        };
        picks.forEach(play);
        for (const index of chunks.keys()) play(index);
        expect((records.get(`${W}/~stream/m1`) as { text: string }).text).toBe(second.join(''));
      }),
    );
  });

  it('shows a status only until its end', () => {
    const agent = { id: 'a1', name: 'Writer' };
    const status = {
      name: 'agent.status',
      payload: { workspace_id: W, agent_id: 'a1', status: 'writing', expires_in_ms: 50 },
    };
    const records = receive(new Map([[`${W}/agents`, [agent]]]), status);
    const live = (now: number) => swarmOf(records, W, now).agents.map((one) => one.live);
    expect([live(49), live(51)]).toEqual([['writing'], ['online']]);
  });
});
