import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { io, type Socket } from 'socket.io-client';
import {
  type Conversation,
  fold,
  type FoldedWorkspace,
  type Message,
  type Payload,
  restore,
  type Workspace,
} from './folded-workspace.js';
import type { Interval } from './lost-commits.js';
import { RestClient } from './rest-client.js';

export interface Place {
  restUrls: readonly string[];
  socketUrls: readonly string[];
}

export interface SentMessage {
  localId: string;
  /** The text, which is different for each message. */
  text: string;
  conversationId: string;
  workspaceId: string;
  /** The stored message's id, once it was acknowledged. */
  messageId?: string;
  /** When it was sent first, by `performance.now()`. */
  at: number;
  /** The acknowledgements, and from when until when each was waited for. */
  acks: (Interval & { messageId: string })[];
}

/** An acknowledged choice on a card, and from when until when the acknowledgement was waited for. */
export interface Choice extends Interval {
  workspaceId: string;
  conversationId: string;
  messageId: string;
  actionId: string;
  label: string;
}

export interface SendOptions {
  /** Sends the acknowledged message again. */
  twice?: boolean;
  /** With a request instead of the socket. */
  overRest?: boolean;
  /** Beginning of the text. */
  prefix?: string;
}

/** Name of all clients' user. */
export const USER_NAME = 'Ada';
const ATTEMPT_MS = 5_000;
const RETRYABLE = new Set(['service_unavailable', 'rate_limited', 'internal_error', 'turn_queue_full']);

/** Whether a message was stored or finally refused, or is sent again after a time. */
type Attempt = { messageId?: string } | { retryAfterMs: number };

/**
 * A client as the realtime documentation asks for: it reads the workspace list after each connect, and follows
 * `workspace.new` and `workspace.deleted` in between; it reads a snapshot, subscribes from its position, replaces an
 * object only by one with a higher `rev`, continues after a reconnect from its position, and reads a new snapshot after
 * `workspace.resync`. It records broken API promises.
 */
export class FoldingClient {
  readonly known = new Map<string, FoldedWorkspace>();
  readonly sent: SentMessage[] = [];
  readonly choices: Choice[] = [];
  readonly violations: string[] = [];
  /** Why the server ended connections. */
  readonly endings: string[] = [];
  /** The reasons for which it had to read a new snapshot. */
  readonly resyncs: string[] = [];
  private readonly socket: Socket;
  private readonly loading = new Map<string, Promise<void>>();
  private readonly gone = new Set<string>();
  private readonly closing = new AbortController();

  readonly token: string;
  readonly rest: RestClient;

  constructor(place: Place, token: string, number: number) {
    this.token = token;
    this.rest = new RestClient({ urls: place.restUrls, token, first: number, signal: this.closing.signal });
    this.socket = io(`${place.socketUrls[number % place.socketUrls.length]}/v1`, {
      auth: (answer) => answer({ 'x-token': token }),
      autoConnect: false,
      forceNew: true,
      reconnectionDelay: 200,
      reconnectionDelayMax: 1_000,
      timeout: 5_000,
    });
    this.socket.on('connect', () => this.connected());
    this.socket.onAny((name: string, payload: Payload) => this.receive(name, payload));
  }

  private connected(): void {
    this.subscribe([...this.known.keys()].filter((id) => !this.loading.has(id)));
    // The next connect reads the list again.
    this.refresh().catch(() => undefined);
  }

  /** Connects, and reads all workspaces. */
  async join(): Promise<void> {
    this.socket.connect();
    await this.refresh();
  }

  /** A workspace as REST returns it; undefined if it was deleted. */
  async snapshot(workspaceId: string): Promise<FoldedWorkspace | undefined> {
    const path = `/v1/workspaces/${workspaceId}`;
    const { status, body, position = '' } = await this.rest.read(path);
    if (status === 404) return undefined;
    const [epoch = '', seq = ''] = position.split(':');
    if (!/^\d+$/.test(seq)) this.violations.push(`the position of ${workspaceId} is "${position}"`);
    const conversations = await this.rest.readAll<Conversation>(`${path}/conversations`);
    const messages = await Promise.all(
      conversations.map(({ id }) => this.rest.readAll<Message>(`${path}/conversations/${id}/messages`)),
    );
    return {
      epoch,
      position: Number(seq),
      workspace: (body as { data: Workspace }).data,
      conversations: new Map(conversations.map((conversation) => [conversation.id, conversation])),
      messages: new Map(messages.flat().map((message) => [message.id, message])),
      deleted: new Set(),
      streams: new Map(),
      statuses: new Map(),
    };
  }

  /** The user's workspace ids. */
  async workspaceIds(): Promise<string[]> {
    const { status, body } = await this.rest.read('/v1/workspaces');
    if (status !== 200) throw new Error(`GET /v1/workspaces returned ${status} ${JSON.stringify(body)}`);
    return (body as { data: { id: string }[] }).data.map(({ id }) => id);
  }

  /** Reads the list and every workspace that is new. */
  private async refresh(): Promise<void> {
    // An event can add another one in the meantime.
    const before = [...this.known.keys()];
    const ids = await this.workspaceIds();
    for (const id of before) if (!ids.includes(id)) this.known.delete(id);
    await Promise.all(ids.filter((id) => !this.known.has(id)).map((id) => this.load(id)));
  }

  /** Reads a snapshot and subscribes from its position; a second call during it does nothing. */
  load(workspaceId: string): Promise<void> {
    const running = this.loading.get(workspaceId);
    if (running !== undefined) return running;
    const loading = (async () => {
      // A failover can lose the deletion.
      this.gone.delete(workspaceId);
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
      const { id } = payload['workspace'] as Workspace;
      // Events in a workspace that is subscribed already would come twice.
      if (!this.known.has(id)) this.load(id).catch(() => undefined);
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
      // The next events belong to another history.
      this.resyncs.push(String(payload['reason']));
      this.known.delete(workspaceId);
      this.pause(Number(payload['in_ms'] ?? 0))
        .then(() => this.load(workspaceId))
        .catch(() => undefined);
      return;
    }
    if (typeof payload['seq'] === 'number') this.advance(folded, name, payload['seq']);
    fold(folded, name, payload, (text) => this.violations.push(text));
  }

  /** I2: the position only grows. */
  private advance(folded: FoldedWorkspace, name: string, seq: number): void {
    const isOrdered = name === 'workspace.position' ? seq >= folded.position : seq > folded.position;
    if (!isOrdered) this.violations.push(`${name} ${seq} came at position ${folded.position}`);
    folded.position = Math.max(folded.position, seq);
  }

  private subscribed(payload: Payload): void {
    const rejected = (payload['rejected'] ?? []) as { workspace_id: string; code: string }[];
    // Deleted, or created shortly before a failover that has lost it.
    for (const { workspace_id: id, code } of rejected) if (code === 'workspace_not_found') this.known.delete(id);
    for (const [workspaceId, state] of Object.entries((payload['state'] ?? {}) as Record<string, unknown>)) {
      const folded = this.known.get(workspaceId);
      if (folded !== undefined) restore(folded, state);
    }
  }

  /** Sends a message, and again with the same `local_id` until it is stored or finally refused. */
  async send(workspaceId: string, conversationId: string, options: SendOptions = {}): Promise<void> {
    const { twice = false, overRest = false, prefix = '' } = options;
    const localId = randomUUID();
    const at = performance.now();
    const message: SentMessage = { localId, text: `${prefix}${localId}`, conversationId, workspaceId, at, acks: [] };
    this.sent.push(message);
    for (const _ of twice ? [1, 2] : [1]) await this.sendUntilKnown(message, overRest);
  }

  private async sendUntilKnown(message: SentMessage, overRest: boolean): Promise<void> {
    while (!this.closing.signal.aborted) {
      const from = performance.now();
      const attempt = overRest ? await this.post(message) : await this.emit(message);
      if ('retryAfterMs' in attempt) {
        await this.pause(attempt.retryAfterMs);
        continue;
      }
      const { messageId } = attempt;
      if (messageId === undefined) return;
      message.messageId = messageId;
      message.acks.push({ messageId, from, to: performance.now() });
      return;
    }
  }

  private async emit({ workspaceId, conversationId, localId, text }: SentMessage): Promise<Attempt> {
    interface Answer {
      ok?: boolean;
      message_id?: string;
      code?: string;
      extra?: { retry_after_ms?: number };
    }
    const content = { type: 'text', text };
    const event = { workspace_id: workspaceId, conversation_id: conversationId, local_id: localId, content };
    try {
      const answer = (await this.socket.timeout(ATTEMPT_MS).emitWithAck('message.send', event)) as Answer;
      if (answer.ok === true) return answer.message_id === undefined ? {} : { messageId: answer.message_id };
      return RETRYABLE.has(answer.code ?? '') ? { retryAfterMs: answer.extra?.retry_after_ms ?? 500 } : {};
    } catch {
      return { retryAfterMs: 500 };
    }
  }

  private async post({ workspaceId, conversationId, localId, text }: SentMessage): Promise<Attempt> {
    const path = `/v1/workspaces/${workspaceId}/conversations/${conversationId}/messages`;
    const content = { type: 'text', text };
    try {
      const { status, body } = await this.rest.request('POST', path, { local_id: localId, content });
      return status < 300 ? { messageId: (body as { data: Message }).data.id } : {};
    } catch {
      return { retryAfterMs: 500 };
    }
  }

  /** Chooses an action on a workspace's newest open card, if there is one. */
  async choose(workspaceId: string, pick: number): Promise<void> {
    const card = [...(this.known.get(workspaceId)?.messages.values() ?? [])].findLast(
      ({ content }) => content.type === 'action_card' && (content.selected_action_id ?? null) === null,
    );
    const actions = card?.content.actions ?? [];
    const action = actions[pick % Math.max(1, actions.length)];
    if (card === undefined || action === undefined) return;
    const { id: messageId, conversation_id: conversationId } = card;
    const path = `/v1/workspaces/${workspaceId}/messages/${messageId}/action`;
    const from = performance.now();
    const { status } = await this.rest.request('POST', path, { action_id: action.id });
    const { id: actionId, label } = action;
    if (status < 300)
      this.choices.push({ workspaceId, conversationId, messageId, actionId, label, from, to: performance.now() });
  }

  /** Closes the connection without a disconnect packet, as a phone without a network does. */
  goOffline(): void {
    this.socket.io.engine?.close();
    this.socket.disconnect();
  }

  goOnline(): void {
    if (!this.closing.signal.aborted) this.socket.connect();
  }

  /** The client reads nothing more from its connection, which fills. */
  stopReading(): void {
    this.connection()?.pause();
  }

  readAgain(): void {
    this.connection()?.resume();
  }

  private connection(): WebSocketConnection | undefined {
    return (this.socket.io.engine?.transport as { ws?: WebSocketConnection } | undefined)?.ws;
  }

  get isConnected(): boolean {
    return this.socket.connected;
  }

  private async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.closing.signal });
  }

  /** Ends its connection and everything that it waits for. */
  async close(): Promise<void> {
    if (this.closing.signal.aborted) return;
    this.closing.abort(new Error('the client is closed'));
    const connection = this.connection();
    connection?.resume();
    const closed = connection === undefined || connection.readyState > 1 ? undefined : once(connection, 'close');
    this.socket.io.reconnection(false);
    this.socket.disconnect();
    connection?.terminate();
    await closed;
  }
}

/** The connection of socket.io's client in Node. */
interface WebSocketConnection extends NodeJS.EventEmitter {
  /** Above 1 if it closes or is closed. */
  readyState: number;
  pause(): void;
  resume(): void;
  terminate(): void;
}

/** Creates the account. The gateway refuses users without one, and clients do not try again. */
export async function signUp({ restUrls }: Place, token: string): Promise<void> {
  const rest = new RestClient({ urls: restUrls, token, first: 0 });
  const { status, body } = await rest.request('POST', '/v1/auth/sign-up');
  if (status >= 300) throw new Error(`POST /v1/auth/sign-up returned ${status} ${JSON.stringify(body)}`);
}
