import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { SERVER_EVENTS, type ServerEventName } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { io, type Socket } from 'socket.io-client';
import type { Place } from './folding-client.js';
import { RestClient } from './rest-client.js';

/** The specified message fields, as far as devices are compared. */
interface ShownMessage {
  id: string;
  conversation_id: string;
  role: string;
  local_id?: string | null;
  content: { type: string };
  status: string;
  extended_status?: string;
}

interface EventPayload {
  workspace_id?: string;
  message_id?: string;
  message?: ShownMessage;
  workspace_ids?: string[];
}

const isSpecified = (name: string): boolean =>
  Object.hasOwn(SERVER_EVENTS, name) && !('extension' in SERVER_EVENTS[name as ServerEventName]);

const SUBSCRIBE_AGAIN_MS = 2_000;

/**
 * A device that knows nothing but the specification: it shows a message when it is new, replaces one that it shows, and ignores
 * positions, revisions and events that the specification does not have. It reads everything after each connect, and never
 * connects on its own initiative: only the library does.
 */
export class SpecificationDevice {
  /** The messages by workspace, as far as the device has read them. */
  readonly shown = new Map<string, Map<string, ShownMessage>>();
  /** Messages that the server reports as deleted. The specification has no event for it. */
  readonly deleted = new Set<string>();
  /** Workspaces whose events the server has stopped. The specification has no event for it either. */
  readonly stopped = new Set<string>();
  private readonly socket: Socket;
  private readonly rest: RestClient;
  private readonly closing = new AbortController();
  /** Events in workspaces that are being read. */
  private readonly waiting = new Map<string, [name: string, payload: EventPayload][]>();
  private readonly subscribed = new Set<string>();
  private connects = 0;
  private isReading = false;

  constructor(place: Place, token: string, number: number) {
    this.rest = new RestClient({ urls: place.restUrls, token, first: number, signal: this.closing.signal });
    this.socket = io(`${place.socketUrls[number % place.socketUrls.length]}/v1`, {
      auth: { 'x-token': token },
      autoConnect: false,
      forceNew: true,
    });
    this.socket.on('connect', () => void this.readAll().catch(() => undefined));
    this.socket.onAny((name: string, payload: EventPayload) => this.receive(name, payload));
  }

  /** Connects for the first and only time. */
  async join(): Promise<void> {
    this.socket.connect();
    await this.settled();
  }

  /** Resolves when the device is connected and has read everything. */
  async settled(timeoutMs = 90_000): Promise<void> {
    await eventually(() => this.socket.connected && !this.isReading && this.shown.size > 0, {
      timeoutMs,
      description: 'the device that knows only the specification is connected and has read all messages',
    });
  }

  private async readAll(): Promise<void> {
    this.connects += 1;
    const connect = this.connects;
    this.isReading = true;
    this.subscribed.clear();
    this.waiting.clear();
    this.stopped.clear();
    const { body } = await this.rest.read('/v1/workspaces');
    const ids = (body as { data: { id: string }[] }).data.map(({ id }) => id);
    for (const id of this.shown.keys()) if (!ids.includes(id)) this.shown.delete(id);
    await Promise.all(ids.map((id) => this.read(id, connect)));
    if (connect === this.connects) this.isReading = false;
  }

  /** Subscribes first, so that no event is missing between the list and the subscription. */
  private async read(workspaceId: string, connect: number): Promise<void> {
    this.waiting.set(workspaceId, []);
    while (connect === this.connects && !this.subscribed.has(workspaceId)) {
      this.socket.emit('workspace.subscribe', { workspace_ids: [workspaceId] });
      const until = performance.now() + SUBSCRIBE_AGAIN_MS;
      while (!this.subscribed.has(workspaceId) && performance.now() < until)
        await sleep(50, undefined, { signal: this.closing.signal });
      if ((await this.rest.read(`/v1/workspaces/${workspaceId}`)).status === 404) return;
    }
    const { messages } = await this.listed(workspaceId);
    if (connect !== this.connects) return;
    this.shown.set(workspaceId, new Map(messages.map((message) => [message.id, message])));
    const waiting = this.waiting.get(workspaceId) ?? [];
    this.waiting.delete(workspaceId);
    for (const [name, payload] of waiting) this.show(workspaceId, name, payload);
  }

  private async listed(workspaceId: string): Promise<{ conversationIds: string[]; messages: ShownMessage[] }> {
    const path = `/v1/workspaces/${workspaceId}/conversations`;
    const conversationIds = (await this.rest.readAll<{ id: string }>(path)).map(({ id }) => id);
    const lists = conversationIds.map((id) => this.rest.readAll<ShownMessage>(`${path}/${id}/messages`));
    return { conversationIds, messages: (await Promise.all(lists)).flat() };
  }

  private receive(name: string, payload: EventPayload): void {
    if (name === 'workspace.subscribed') for (const id of payload.workspace_ids ?? []) this.subscribed.add(id);
    const workspaceId = payload.workspace_id ?? '';
    if (name === 'workspace.resync') this.stopped.add(workspaceId);
    if (name === 'message.deleted' && payload.message_id !== undefined) this.deleted.add(payload.message_id);
    if (!isSpecified(name)) return;
    const waiting = this.waiting.get(workspaceId);
    if (waiting === undefined) this.show(workspaceId, name, payload);
    else waiting.push([name, payload]);
  }

  private show(workspaceId: string, name: string, { message }: EventPayload): void {
    const messages = this.shown.get(workspaceId);
    if (messages === undefined || message === undefined) return;
    if (name === 'message.new' || (name === 'message.updated' && messages.has(message.id)))
      messages.set(message.id, message);
  }

  /** What the device shows, compared with lists that are read now. Only workspaces that it knows: it is not told of new ones. */
  async differences(): Promise<string[]> {
    const wrong: string[] = [];
    for (const [workspaceId, shown] of this.shown) {
      const isGone = (await this.rest.read(`/v1/workspaces/${workspaceId}`)).status === 404;
      if (isGone || this.stopped.has(workspaceId)) continue;
      const { conversationIds, messages } = await this.listed(workspaceId);
      const ids = new Set(messages.map(({ id }) => id));
      for (const { id, conversation_id: of } of shown.values()) {
        if (!ids.has(id) && conversationIds.includes(of) && !this.deleted.has(id))
          wrong.push(`the message ${id} does not exist`);
      }
      for (const message of messages) {
        const mine = shown.get(message.id);
        const [is, should] = [mine && partOf(mine), partOf(message)];
        if (!isDeepStrictEqual(is, should))
          wrong.push(`the message ${message.id}: ${JSON.stringify(is)} instead of ${JSON.stringify(should)}`);
      }
    }
    return wrong.map((line) => `the device that knows only the specification: ${line}`);
  }

  async close(): Promise<void> {
    this.closing.abort(new Error('the device is closed'));
    this.socket.disconnect();
  }
}

/** As plain JSON: objects in responses and in events come from different realms in tests. */
const partOf = ({ conversation_id, role, local_id, content, status, extended_status }: ShownMessage): unknown =>
  JSON.parse(
    JSON.stringify({
      conversation_id,
      role,
      local_id: local_id ?? null,
      content,
      status: extended_status ?? status,
    }),
  );
