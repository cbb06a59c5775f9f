import { type Conversation, listedStatus, type MessageData, type Workspace, workspaceExample } from '@uswarm/contract';
import { serverEvent, type ServerEvent } from './checks.js';

type Content = MessageData['content'];

/** A stored event. */
export interface LogEntry {
  seq: number;
  event: ServerEvent;
}

interface Stream {
  generation: number;
  chunkSeq: number;
  text: string;
}

export interface ChunkOptions {
  /** Default: the present one, or 1. */
  generation?: number;
  /** Start of the chunk in UTF-16 code units. Default: after the text so far. */
  offset?: number;
}

export interface MessageOptions {
  id?: string;
  localId?: string;
  createdAt?: string;
  /** The sort key. Default: the last one. */
  position?: string;
}

const AT = '2026-11-28T10:00:00.000Z';

export const id = (last: number): string => `0192d3a4-0000-7000-8000-${String(last).padStart(12, '0')}`;
export const positionOf = (n: number): string => `${n.toString(16).padStart(16, '0')}b`;
export const textContent = (text: string): Content => ({ type: 'text', text });

/**
 * What the service has stored: one workspace with one conversation, and the log of its events. Methods change it as the service
 * does, and pass the events to `publish`.
 */
export class World {
  readonly workspaceId = id(1);
  readonly conversationId = id(2);
  readonly agentId = id(3);
  epoch = 'e1';
  seq = 40;
  title = 'Groceries';
  unread = 0;
  conversationRev = 40;
  deleted = false;
  messages: MessageData[] = [];
  log: LogEntry[] = [];
  /** The events up to this sequence are no longer stored. */
  logStart = 40;
  readonly streams = new Map<string, Stream>();
  readonly byLocalId = new Map<string, string>();
  publish: (event: ServerEvent) => void = () => undefined;
  #ids = 100;

  get position(): string {
    return `${this.epoch}:${this.seq}`;
  }

  /** In the order of `position`. */
  get ordered(): MessageData[] {
    return this.messages.toSorted((a, b) => (a.position < b.position ? -1 : 1));
  }

  user(text: string, options: MessageOptions = {}): MessageData {
    const message = this.#message('user', textContent(text), options);
    return this.#create({ ...message, status: 'delivered', extended_status: 'sent' });
  }

  agent(content: string | Content, options: MessageOptions = {}): MessageData {
    this.unread += 1;
    return this.#create(this.#message('agent', typeof content === 'string' ? textContent(content) : content, options));
  }

  /** Adds messages without events: what was stored before the scenario. */
  before(...texts: string[]): MessageData[] {
    const publish = this.publish;
    this.publish = () => undefined;
    const added = texts.map((text) => this.agent(text));
    this.publish = publish;
    this.log = [];
    this.logStart = this.seq;
    return added;
  }

  /** A reply that has begun. */
  begin(options: MessageOptions = {}): MessageData {
    const message = this.#message('agent', { type: 'loading' }, options);
    return this.#create({ ...message, status: 'pending', extended_status: 'pending' });
  }

  chunk(reply: MessageData, chunk: string, options: ChunkOptions = {}): ServerEvent {
    const known = this.streams.get(reply.id) ?? { generation: 1, chunkSeq: 0, text: '' };
    const { generation = known.generation } = options;
    const text = generation === known.generation ? known.text : '';
    const { offset = text.length } = options;
    const chunkSeq = generation === known.generation ? known.chunkSeq + 1 : 1;
    this.streams.set(reply.id, { generation, chunkSeq, text: text.slice(0, offset) + chunk });
    const payload = { ...this.#reply(reply), chunk, chunk_seq: chunkSeq, generation, offset };
    return this.#ephemeral('message.chunk', payload);
  }

  /** Ends a reply: its final text, then `message.done`. */
  finish(reply: MessageData, text: string, exact: 'delivered' | 'incomplete' = 'delivered'): MessageData {
    const status = exact === 'delivered' ? 'delivered' : 'failed';
    const error = exact === 'delivered' ? null : { code: 'runtime_lost' as const, retryable: true, message: 'Lost.' };
    this.streams.delete(reply.id);
    const message = this.update(reply, { content: textContent(text), extended_status: exact, error });
    this.unread += 1;
    this.#append('message.done', (seq) => ({
      ...this.#reply(reply),
      status,
      error,
      conversation: this.#conversationChange(seq),
    }));
    return message;
  }

  update(message: { id: string }, changes: Partial<MessageData>): MessageData {
    const index = this.messages.findIndex(({ id: known }) => known === message.id);
    const old = this.messages[index];
    if (old === undefined) throw new Error(`The message ${message.id} does not exist`);
    const exact = changes.extended_status ?? old.extended_status;
    const changed = { ...old, ...changes, extended_status: exact, status: listedStatus(exact), rev: this.seq + 1 };
    this.messages[index] = changed;
    this.#append('message.updated', () => ({ message: changed }));
    return changed;
  }

  remove(message: { id: string }): void {
    this.messages = this.messages.filter(({ id: known }) => known !== message.id);
    this.streams.delete(message.id);
    this.#append('message.deleted', () => ({ conversation_id: this.conversationId, message_id: message.id }));
  }

  read(): void {
    this.unread = 0;
    this.#changed();
  }

  rename(title: string): void {
    this.title = title;
    this.#changed();
  }

  deleteConversation(): void {
    this.deleted = true;
    this.messages = [];
    this.#append('conversation.deleted', () => ({ conversation_id: this.conversationId }));
  }

  /** Sequences whose events a later one replaces, or whose objects were deleted. */
  skip(count: number): void {
    this.seq += count;
  }

  /** A failover to a standby that lacks all but the first messages: sequences and revisions begin again below the lost ones. */
  failover(kept: number): void {
    this.epoch = 'e2';
    this.seq = 30;
    this.conversationRev = 30;
    this.messages = this.messages.slice(0, kept).map((message) => ({ ...message, rev: 30 }));
    this.forgetLog();
  }

  /** Forgets the events: a client that has an older position must reload. */
  forgetLog(): void {
    this.log = [];
    this.logStart = this.seq;
  }

  conversation(): Conversation {
    return {
      id: this.conversationId,
      type: 'swarm',
      title: this.title,
      created_at: AT,
      updated_at: AT,
      rev: this.conversationRev,
      unread_count: this.unread,
      last_read_message_id: null,
      agent: null,
      last_message: this.ordered.at(-1) ?? null,
    };
  }

  workspace(): Workspace {
    return { ...workspaceExample, id: this.workspaceId, rev: this.seq, unread_count: this.unread };
  }

  #changed(): void {
    this.conversationRev = this.seq + 1;
    this.#append('conversation.updated', () => ({ conversation: this.conversation() }));
  }

  #conversationChange(seq: number) {
    this.conversationRev = seq;
    return { rev: seq, title: this.title, unread_count: this.unread };
  }

  #create(message: MessageData): MessageData {
    const created = { ...message, rev: this.seq + 1 };
    this.messages.push(created);
    if (created.local_id !== null) this.byLocalId.set(created.local_id, created.id);
    this.#append('message.new', (seq) => ({ message: created, conversation: this.#conversationChange(seq) }));
    return created;
  }

  #append(name: string, payload: (seq: number) => object): void {
    this.seq += 1;
    const event = serverEvent(name, { workspace_id: this.workspaceId, seq: this.seq, ...payload(this.seq) });
    this.log.push({ seq: this.seq, event });
    this.publish(event);
  }

  #ephemeral(name: string, payload: object): ServerEvent {
    const event = serverEvent(name, { workspace_id: this.workspaceId, ...payload });
    this.publish(event);
    return event;
  }

  #reply(reply: MessageData) {
    return { message_id: reply.id, conversation_id: this.conversationId, agent_id: this.agentId };
  }

  #message(role: 'user' | 'agent', content: Content, options: MessageOptions): MessageData {
    this.#ids += 1;
    const agent = { id: this.agentId, name: 'Manager', slug: 'manager', avatar: '' };
    return {
      id: options.id ?? id(this.#ids),
      conversation_id: this.conversationId,
      role,
      content,
      status: 'delivered',
      extended_status: 'delivered',
      created_at: options.createdAt ?? AT,
      updated_at: AT,
      position: options.position ?? positionOf(this.#ids * 16),
      error: null,
      edited_at: null,
      local_id: options.localId ?? null,
      agent: role === 'user' ? null : { ...agent, role: 'manager', status: 'online' },
      attachments: [],
      mentions: [],
    };
  }
}
