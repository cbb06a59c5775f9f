import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { io, type Socket } from 'socket.io-client';
import { RestClient } from './rest-client.js';

/** An object of the API with its revision. */
export interface Revised {
  id: string;
  rev: number;
}
interface Message extends Revised {
  conversation_id: string;
  local_id: string | null;
}
interface Stream {
  generation: number;
  text: string;
}

/** What a client knows of a workspace. */
export interface FoldedWorkspace {
  epoch: string;
  position: number;
  workspace: Revised;
  conversations: Map<string, Revised>;
  messages: Map<string, Message>;
  deleted: Set<string>;
  streams: Map<string, Stream>;
  statuses: Map<string, { status: string; until: number }>;
}

export interface Place {
  restUrls: readonly string[];
  socketUrls: readonly string[];
}

export interface SentMessage {
  localId: string;
  conversationId: string;
  workspaceId: string;
  /** The id of the stored message, once it was acknowledged. */
  messageId?: string;
}

type Payload = Record<string, unknown>;

const ATTEMPT_MS = 5_000;
const RETRYABLE = new Set(['service_unavailable', 'rate_limited', 'internal_error', 'turn_queue_full']);
const WORKING = new Set(['reading', 'thinking', 'writing', 'pending']);

/**
 * A client as the documentation of the realtime API asks for: it reads a snapshot, subscribes from its position, replaces an object
 * only by one with a higher `rev`, continues after a reconnect from its position, and reads a new snapshot after
 * `workspace.resync`. It records what breaks the promises of the API.
 */
export class FoldingClient {
  readonly known = new Map<string, FoldedWorkspace>();
  readonly sent: SentMessage[] = [];
  readonly violations: string[] = [];
  /** Why the server ended connections. */
  readonly endings: string[] = [];
  /** The reasons for which it had to read a new snapshot. */
  readonly resyncs: string[] = [];
  private readonly socket: Socket;
  private readonly loading = new Map<string, Promise<void>>();
  private gone = new Set<string>();
  private closed = false;

  readonly token: string;
  readonly rest: RestClient;

  constructor(place: Place, token: string, number: number) {
    this.token = token;
    this.rest = new RestClient({ urls: place.restUrls, token, first: number, isClosed: () => this.closed });
    this.socket = io(`${place.socketUrls[number % place.socketUrls.length]}/v1`, {
      auth: (answer) => answer({ 'x-token': token }),
      forceNew: true,
      reconnectionDelay: 200,
      reconnectionDelayMax: 1_000,
      timeout: 5_000,
    });
    this.socket.on('connect', () => void this.subscribeAll());
    this.socket.onAny((name: string, payload: Payload) => this.receive(name, payload));
  }

  /** A workspace as REST returns it; undefined if it was deleted. */
  async snapshot(workspaceId: string): Promise<FoldedWorkspace | undefined> {
    const { status, body, position = '' } = await this.rest.read(`/v1/workspaces/${workspaceId}`);
    if (status === 404) return undefined;
    const [epoch = '', seq = ''] = position.split(':');
    if (!/^\d+$/.test(seq)) this.violations.push(`the position of ${workspaceId} is "${position}"`);
    const conversations = await this.rest.readAll<Revised>(`/v1/workspaces/${workspaceId}/conversations`);
    const messages = await Promise.all(
      conversations.map(({ id }) =>
        this.rest.readAll<Message>(`/v1/workspaces/${workspaceId}/conversations/${id}/messages`),
      ),
    );
    return {
      epoch,
      position: Number(seq),
      workspace: (body as { data: Revised }).data,
      conversations: new Map(conversations.map((conversation) => [conversation.id, conversation])),
      messages: new Map(messages.flat().map((message) => [message.id, message])),
      deleted: new Set(),
      streams: new Map(),
      statuses: new Map(),
    };
  }

  /** The ids of the workspaces of the user. */
  async workspaceIds(): Promise<string[]> {
    const { status, body } = await this.rest.read('/v1/workspaces');
    if (status !== 200) throw new Error(`GET /v1/workspaces returned ${status} ${JSON.stringify(body)}`);
    return (body as { data: { id: string }[] }).data.map(({ id }) => id);
  }

  /** Reads the list and every workspace that is new. */
  async refresh(): Promise<void> {
    const ids = await this.workspaceIds();
    for (const id of this.known.keys()) if (!ids.includes(id)) this.known.delete(id);
    await Promise.all(ids.filter((id) => !this.known.has(id)).map((id) => this.load(id)));
  }

  /** Reads a snapshot and subscribes from its position; a second call during it does nothing. */
  load(workspaceId: string): Promise<void> {
    const running = this.loading.get(workspaceId);
    if (running !== undefined) return running;
    const loading = (async () => {
      const folded = await this.snapshot(workspaceId);
      if (folded === undefined || this.gone.has(workspaceId)) this.known.delete(workspaceId);
      else this.known.set(workspaceId, folded);
    })().finally(() => {
      this.loading.delete(workspaceId);
      if (this.known.has(workspaceId)) this.subscribe([workspaceId]);
    });
    this.loading.set(workspaceId, loading);
    return loading;
  }

  private async subscribeAll(): Promise<void> {
    this.subscribe([...this.known.keys()].filter((id) => !this.loading.has(id)));
  }

  private subscribe(workspaceIds: string[]): void {
    if (!this.socket.connected || workspaceIds.length === 0) return;
    const since = Object.fromEntries(
      workspaceIds.map((id) => {
        const { epoch, position } = this.known.get(id)!;
        return [id, epoch === '' ? position : `${epoch}:${position}`];
      }),
    );
    this.socket.emit('workspace.subscribe', { workspace_ids: workspaceIds, since });
  }

  private receive(name: string, payload: Payload): void {
    if (name === 'session.ending') this.endings.push(String(payload['code']));
    if (name === 'workspace.subscribed') return this.subscribed(payload);
    if (name === 'workspace.new') {
      const { id } = payload['workspace'] as Revised;
      // Events of a workspace that is subscribed already would come twice.
      if (!this.known.has(id)) void this.load(id).catch(() => undefined);
      return;
    }
    const workspaceId = String(payload['workspace_id']);
    if (name === 'workspace.deleted') {
      this.gone.add(workspaceId);
      this.known.delete(workspaceId);
      return;
    }
    const folded = this.known.get(workspaceId);
    if (folded === undefined) return;
    if (name === 'workspace.resync') {
      // What follows belongs to another history.
      this.resyncs.push(String(payload['reason']));
      this.known.delete(workspaceId);
      const load = () => this.load(workspaceId).catch(() => undefined);
      setTimeout(() => void load(), Number(payload['in_ms'] ?? 0));
      return;
    }
    if (typeof payload['seq'] === 'number') this.advance(folded, name, payload['seq']);
    this.fold(folded, name, payload);
  }

  /** I2: the position only grows. */
  private advance(folded: FoldedWorkspace, name: string, seq: number): void {
    const isOrdered = name === 'workspace.position' ? seq >= folded.position : seq > folded.position;
    if (!isOrdered) this.violations.push(`${name} ${seq} came at position ${folded.position}`);
    folded.position = Math.max(folded.position, seq);
  }

  private fold(folded: FoldedWorkspace, name: string, payload: Payload): void {
    switch (name) {
      case 'message.new':
      case 'message.updated':
        replace(folded.messages, payload['message'] as Message, folded.deleted);
        change(folded, payload);
        break;
      case 'message.deleted':
        folded.deleted.add(String(payload['message_id']));
        folded.messages.delete(String(payload['message_id']));
        change(folded, payload);
        break;
      case 'conversation.new':
      case 'conversation.updated':
        replace(folded.conversations, payload['conversation'] as Revised, folded.deleted);
        break;
      case 'conversation.deleted': {
        const id = String(payload['conversation_id']);
        folded.deleted.add(id);
        folded.conversations.delete(id);
        for (const message of folded.messages.values())
          if (message.conversation_id === id) folded.messages.delete(message.id);
        replaceWorkspace(folded, payload['workspace']);
        break;
      }
      case 'workspace.updated':
        replaceWorkspace(folded, payload['workspace']);
        break;
      case 'message.chunk':
        this.stream(folded, payload);
        break;
      case 'message.done':
        folded.streams.delete(String(payload['message_id']));
        change(folded, payload);
        break;
      case 'agent.status':
        setStatus(folded, payload, payload['expires_in_ms']);
        break;
      default:
    }
  }

  private subscribed(payload: Payload): void {
    const state = (payload['state'] ?? {}) as Record<
      string,
      { agents: Payload[]; streams: (Stream & { message_id: string })[] }
    >;
    for (const [workspaceId, { agents, streams }] of Object.entries(state)) {
      const folded = this.known.get(workspaceId);
      if (folded === undefined) continue;
      folded.statuses.clear();
      for (const agent of agents) setStatus(folded, agent, agent['until_ms']);
      folded.streams = new Map(streams.map(({ message_id: id, generation, text }) => [id, { generation, text }]));
    }
  }

  /** `text := text[0..offset) + chunk`. A hole is a violation: the text that a user sees would have one. */
  private stream(folded: FoldedWorkspace, payload: Payload): void {
    const {
      message_id: id,
      generation,
      offset,
      chunk,
    } = payload as unknown as {
      message_id: string;
      generation: number;
      offset: number;
      chunk: string;
    };
    const known = folded.streams.get(id);
    if (known !== undefined && generation < known.generation) return;
    const text = known?.generation === generation ? known.text : '';
    if (offset > text.length)
      this.violations.push(`a chunk of ${id} begins at ${offset}, but the text ends at ${text.length}`);
    folded.streams.set(id, { generation, text: text.slice(0, offset) + chunk });
  }

  /** Sends over the socket, and again with the same `local_id` until the message is stored or finally refused. */
  async send(workspaceId: string, conversationId: string, { twice }: { twice: boolean }): Promise<void> {
    const message: SentMessage = { localId: randomUUID(), conversationId, workspaceId };
    this.sent.push(message);
    for (const _ of twice ? [1, 2] : [1]) await this.sendUntilKnown(message);
  }

  private async sendUntilKnown(message: SentMessage): Promise<void> {
    const { workspaceId, conversationId } = message;
    const event = {
      workspace_id: workspaceId,
      conversation_id: conversationId,
      local_id: message.localId,
      // The model server tells calls apart by it.
      content: { type: 'text', text: message.localId },
    };
    while (!this.closed) {
      const answer = await this.attempt(event);
      if (answer?.ok === true) {
        if (message.messageId !== undefined && message.messageId !== answer.message_id)
          this.violations.push(`${message.localId} is ${message.messageId} and ${answer.message_id}`);
        if (answer.message_id !== undefined) message.messageId = answer.message_id;
        return;
      }
      if (answer !== undefined && !RETRYABLE.has(answer.code ?? '')) return;
      await sleep(answer?.extra?.retry_after_ms ?? 500);
    }
  }

  private async attempt(event: object) {
    interface Answer {
      ok?: boolean;
      message_id?: string;
      code?: string;
      extra?: { retry_after_ms?: number };
    }
    try {
      return (await this.socket.timeout(ATTEMPT_MS).emitWithAck('message.send', event)) as Answer;
    } catch {
      return undefined;
    }
  }

  /** Closes the connection without a disconnect packet, as a phone without a network does. */
  goOffline(): void {
    this.socket.io.engine?.close();
    this.socket.disconnect();
  }

  goOnline(): void {
    this.socket.connect();
  }

  /** The client reads nothing more from its connection, which fills. */
  stopReading(): void {
    this.connection()?.pause();
  }

  readAgain(): void {
    this.connection()?.resume();
  }

  private connection(): { pause(): void; resume(): void } | undefined {
    const transport = this.socket.io.engine?.transport as { ws?: { pause(): void; resume(): void } };
    return transport?.ws;
  }

  get isConnected(): boolean {
    return this.socket.connected;
  }

  /** Agents that this client shows as working now. */
  workingAgents(now = performance.now()): string[] {
    return [...this.known.values()].flatMap(({ statuses }) =>
      [...statuses].filter(([, { status, until }]) => WORKING.has(status) && until > now).map(([id]) => id),
    );
  }

  close(): void {
    this.closed = true;
    this.socket.disconnect();
  }
}

/** Creates the account. The gateway refuses users without one, and clients do not try again. */
export async function signUp({ restUrls }: Place, token: string): Promise<void> {
  const rest = new RestClient({ urls: restUrls, token, first: 0, isClosed: () => false });
  const { status, body } = await rest.request('POST', '/v1/auth/sign-up');
  if (status >= 300) throw new Error(`POST /v1/auth/sign-up returned ${status} ${JSON.stringify(body)}`);
}

/** I3: an object replaces another iff its `rev` is higher. */
function replace<Item extends Revised>(items: Map<string, Item>, item: Item, deleted: ReadonlySet<string>): void {
  if (deleted.has(item.id)) return;
  const known = items.get(item.id);
  if (known === undefined || item.rev > known.rev) items.set(item.id, item);
}

/** What an event about a message changes in its conversation and its workspace. */
function change(folded: FoldedWorkspace, payload: Payload): void {
  const conversationId = (payload['conversation_id'] ??
    (payload['message'] as Message | undefined)?.conversation_id) as string;
  const conversation = folded.conversations.get(conversationId);
  const [ofConversation, ofWorkspace] = [payload['conversation'], payload['workspace']] as (Revised | undefined)[];
  if (conversation !== undefined && ofConversation !== undefined && ofConversation.rev > conversation.rev)
    folded.conversations.set(conversationId, { ...conversation, ...ofConversation });
  if (ofWorkspace !== undefined && ofWorkspace.rev > folded.workspace.rev)
    folded.workspace = { ...folded.workspace, ...ofWorkspace };
}

function replaceWorkspace(folded: FoldedWorkspace, workspace: unknown): void {
  const newer = workspace as Revised | undefined;
  if (newer !== undefined && newer.rev > folded.workspace.rev) folded.workspace = newer;
}

function setStatus(folded: FoldedWorkspace, payload: Payload, untilMs: unknown): void {
  const until = typeof untilMs === 'number' ? performance.now() + untilMs : Infinity;
  folded.statuses.set(String(payload['agent_id']), { status: String(payload['status']), until });
}
