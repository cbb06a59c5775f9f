import { randomUUID } from 'node:crypto';
import type { MessageData, ServerEventName } from '@uswarm/contract';
import { SERVER_EVENTS } from '@uswarm/contract';
import { checkResponse, checkServerEvent } from '@uswarm/contract/checks';
import { eventually } from './eventually.js';
import { io, type ManagerOptions, type Socket, type SocketOptions } from 'socket.io-client';

/** A received event, checked against the contract. */
export interface SeenEvent {
  name: ServerEventName;
  payload: Record<string, unknown>;
}

export interface TestClient {
  token: string;
  workspaceId: string;
  conversationId: string;
  events: SeenEvent[];
  socket: Socket;
  api: Api;
  /** Resolves with the first matching event, including past ones. @throws Error on timeout */
  saw(name: ServerEventName, fits?: (payload: never) => boolean): Promise<SeenEvent>;
  /** Resolves with the first matching message state, new or changed. @throws Error on timeout */
  shown(fits: (message: MessageData) => boolean): Promise<MessageData>;
  /** Sends a message, by default to the first conversation. @returns its id, once it is acknowledged */
  send(text: string, conversationId?: string): Promise<string>;
  /** Sends a message, waits for the reply's `message.done`, and returns the text that the client shows. */
  ask(text: string): Promise<{ answer: MessageData; done: SeenEvent; streamed: string }>;
  close(): void;
}

export interface TestClientOptions {
  restUrl: string;
  socketUrl: string;
  token: string;
  /** Headers on requests and handshakes; default: only the token. */
  credentials?: () => Record<string, string>;
  /** For another certificate authority or address. */
  fetch?: (
    url: string,
    init: { method: string; headers: Record<string, string>; body?: string },
  ) => Promise<FetchAnswer>;
  socketOptions?: Partial<ManagerOptions & SocketOptions>;
  /** Milliseconds to wait for an event. */
  eventDeadlineMs?: number;
  /** For a server from the previous release, which lacks fields of this contract: disables the check. */
  unchecked?: boolean;
}
type FetchAnswer = Pick<Response, 'status' | 'text'>;

export type Api = (method: string, path: string, body?: unknown) => Promise<{ status: number; body: never }>;

/** A REST client that checks each response against the contract. */
export function createApi({
  credentials,
  fetch: request = fetch,
  restUrl,
  unchecked = false,
}: Pick<TestClientOptions, 'restUrl' | 'fetch' | 'unchecked'> & Required<Pick<TestClientOptions, 'credentials'>>): Api {
  return async (method, path, body) => {
    const response = await request(`${restUrl}${path}`, {
      method,
      headers: { ...credentials(), ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const parsed: unknown = text === '' ? undefined : JSON.parse(text);
    if (!unchecked) checkResponse({ method, path, status: response.status, body: parsed });
    return { status: response.status, body: parsed as never };
  };
}

/** A client like the mobile app, with `fetch` and `socket.io-client`: signs up, subscribes, sends messages. */
export async function startTestClient(options: TestClientOptions): Promise<TestClient> {
  const { restUrl, socketUrl, token, credentials = () => ({ 'x-token': token }) } = options;
  const { eventDeadlineMs = 150_000, fetch: request = fetch, socketOptions = {}, unchecked = false } = options;
  const api = createApi({ restUrl, credentials, fetch: request, unchecked });

  /** Repeats a request while the service is overloaded, as the app does. */
  const whenAvailable = (method: string, path: string) =>
    eventually(() => api(method, path), { until: ({ status }) => status !== 503 });

  const signedUp = await whenAvailable('POST', '/v1/auth/sign-up');
  if (signedUp.status >= 400)
    throw new Error(`the sign-up failed: ${signedUp.status} ${JSON.stringify(signedUp.body)}`);
  const workspaceId = firstId(await whenAvailable('GET', '/v1/workspaces'));
  const conversationId = firstId(await whenAvailable('GET', `/v1/workspaces/${workspaceId}/conversations`));

  const events: SeenEvent[] = [];
  const problems: unknown[] = [];
  const waiting = new Set<() => void>();
  const socket = io(`${socketUrl}/v1`, { auth: (answer) => answer(credentials()), forceNew: true, ...socketOptions });
  for (const name of Object.keys(SERVER_EVENTS) as ServerEventName[]) {
    socket.on(name, (payload: Record<string, unknown>) => {
      try {
        if (!unchecked) checkServerEvent(name, payload);
      } catch (problem) {
        problems.push(problem);
      }
      events.push({ name, payload });
      for (const check of waiting) check();
    });
  }

  const saw: TestClient['saw'] = (name, fits = () => true) =>
    sawAny(name, (event) => event.name === name && fits(event.payload as never));

  async function sawAny(name: string, fits: (event: SeenEvent) => boolean): Promise<SeenEvent> {
    const find = (): SeenEvent | undefined => events.find(fits);
    return new Promise((resolve, reject) => {
      const deadline = setTimeout(() => {
        waiting.delete(check);
        reject(new Error(`${name} was not received; received: ${events.map((event) => event.name).join(' ')}`));
      }, eventDeadlineMs);
      const check = (): void => {
        const found = find();
        if (found === undefined && problems.length === 0) return;
        clearTimeout(deadline);
        waiting.delete(check);
        if (problems.length > 0) reject(problems[0] as Error);
        else if (found !== undefined) resolve(found);
      };
      waiting.add(check);
      check();
    });
  }

  async function shown(fits: (message: MessageData) => boolean): Promise<MessageData> {
    const messageOf = ({ payload }: SeenEvent): MessageData => payload['message'] as MessageData;
    const isShown = (event: SeenEvent): boolean =>
      (event.name === 'message.new' || event.name === 'message.updated') && fits(messageOf(event));
    return messageOf(await sawAny('the message', isShown));
  }

  async function send(text: string, toConversationId = conversationId): Promise<string> {
    const localId = randomUUID();
    socket.emit('message.send', {
      workspace_id: workspaceId,
      conversation_id: toConversationId,
      local_id: localId,
      content: { type: 'text', text },
      mentions: [],
      attachments: [],
    });
    const ack = await saw('message.send.ack', ({ local_id }: { local_id: string }) => local_id === localId);
    return ack.payload['message_id'] as string;
  }

  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('connect_error', reject);
  });
  socket.emit('workspace.subscribe', { workspace_ids: [workspaceId] });
  await saw('workspace.subscribed');

  return {
    token,
    workspaceId,
    conversationId,
    events,
    socket,
    api,
    saw,
    shown,
    send,
    async ask(text) {
      const known = new Set(events.filter(({ name }) => name === 'message.done'));
      await send(text);
      const done = await saw(
        'message.done',
        (payload) => !events.some((event) => known.has(event) && event.payload === payload),
      );
      const id = done.payload['message_id'];
      const updates = events.filter(
        ({ name, payload }) => name === 'message.updated' && (payload['message'] as MessageData).id === id,
      );
      return {
        answer: updates.at(-1)?.payload['message'] as MessageData,
        done,
        streamed: streamedText(events, String(id)),
      };
    },
    close: () => socket.disconnect(),
  };
}

function firstId({ status, body }: { status: number; body: { data?: { id: string }[] } }): string {
  const first = body.data?.[0];
  if (first === undefined) throw new Error(`a list has no element: ${status} ${JSON.stringify(body)}`);
  return first.id;
}

/** The text from a message's chunks. A new generation restarts the text, and an offset retracts the text after it. */
export function streamedText(events: readonly SeenEvent[], messageId: string): string {
  let generation = 0;
  let text = '';
  for (const { name, payload } of events) {
    if (name !== 'message.chunk' || payload['message_id'] !== messageId) continue;
    if (Number(payload['generation']) > generation) text = '';
    generation = Number(payload['generation']);
    const offset = typeof payload['offset'] === 'number' ? payload['offset'] : text.length;
    text = text.slice(0, offset) + String(payload['chunk']);
  }
  return text;
}

/** An ID token from the development issuer. */
export async function developmentToken(issuer: string, email: string, name = 'Ada'): Promise<string> {
  const response = await fetch(`${issuer}/dev/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, name }),
  });
  return ((await response.json()) as { id_token: string }).id_token;
}
