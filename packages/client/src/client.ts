import { backOff, createHttp, delay, toError, type Fetch, type Uploadable } from './api.js';
import { createConnection } from './connection.js';
import type { MessageData, ServerEvents } from './gen/types.js';
import { createOutbox, type Draft, type OutboxItem } from './outbox.js';
import { added, callSafely, computed, memoryStore, type Store } from './store.js';
import { openSocket, openStream } from './transports.js';
import { createWorkspaceLog, type ShownMessage, type WorkspaceLog } from './workspace.js';

export interface ClientOptions {
  /** Of the REST API. */
  url: string;
  /** Of the realtime gateway, if it differs. */
  realtimeUrl?: string;
  /** The ID token of the user; asked for at each request. `refresh`: the last one was refused or expires. */
  token(options: { refresh: boolean }): Promise<string> | string;
  /** By default everything is forgotten at the end of the process. */
  store?: Store;
  /** `id` identifies the device for notifications: the `X-Device-ID` of `POST /v1/push-token`. */
  device?: { id?: string; info?: string; version?: string; timezone?: string };
  transport?: 'socket' | 'sse';
  /** Milliseconds in the background until the connection is closed, so that the device is notified; default: 10 seconds. */
  backgroundMs?: number;
  /** For platforms whose `fetch` does not stream, such as `expo/fetch`. */
  fetch?: Fetch;
}
export type Client = ReturnType<typeof createClient>;
type Listener = (payload: never, name: string) => void;

const SCOPE = 'client';

/** A client of one user on one device. It never throws because of the network: that is state. */
export function createClient({
  url,
  realtimeUrl = url,
  store = memoryStore(),
  device = {},
  ...options
}: ClientOptions) {
  const fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
  const logs = new Map<string, WorkspaceLog>();
  const listeners = new Map<string, Set<Listener>>();
  let listed: string[] = [];
  let loaded: Promise<void> | undefined;
  let leavePage = (): void => undefined;

  const http = createHttp(url, fetch, headers);
  const outbox = createOutbox({
    store,
    send,
    upload: http.upload,
    ready: () => connection.signal.get().state === 'live',
    changed: ({ workspace_id: id }) => logs.get(id)?.refresh(),
  });
  const connection = createConnection({
    url: realtimeUrl,
    fetch,
    open: options.transport === 'sse' ? openStream : openSocket,
    headers,
    since,
    prepare,
    onEvent,
    onChange,
    backgroundMs: options.backgroundMs ?? 10_000,
  });
  const workspaces = computed(
    () => listed.flatMap((id) => logs.get(id)?.workspace() ?? []),
    (a, b) => JSON.stringify(a) === JSON.stringify(b),
  );

  async function headers(refresh: boolean): Promise<Record<string, string>> {
    const { id, info, version, timezone = Intl.DateTimeFormat().resolvedOptions().timeZone } = device;
    const known = { 'x-device-id': id, 'x-device-info': info, 'x-version': version, 'x-timezone': timezone };
    const all = { 'x-token': await options.token({ refresh }), ...known };
    return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined));
  }
  function log(id: string): WorkspaceLog {
    const known = logs.get(id) ?? createWorkspaceLog(id, { http, store, outbox, changed: () => workspaces.refresh() });
    logs.set(id, known);
    return known;
  }
  function since(): Record<string, string> {
    const positions = listed.map((id) => [id, logs.get(id)?.position()] as const);
    return Object.fromEntries(positions.filter((entry): entry is [string, string] => entry[1] !== undefined));
  }

  async function list(ids: string[]): Promise<void> {
    const removed = listed.filter((id) => !ids.includes(id));
    listed = ids;
    await store.commit([{ scope: SCOPE, key: 'workspaces', value: ids }]).catch(() => undefined);
    await Promise.all(removed.map((id) => log(id).forget()));
    workspaces.refresh();
  }
  async function prepare(isCurrent: () => boolean): Promise<string[]> {
    try {
      const { data } = await http.api.get('/v1/workspaces');
      await list(data.map(({ id }) => id));
      await Promise.all(data.map((one) => log(one.id).receiveWorkspace(one)));
    } catch (error) {
      // With a resume token, a connection is possible while the service is not available.
      if (!toError(error).retryable || Object.keys(since()).length === 0) throw error;
    }
    const missing = listed.filter((id) => log(id).position() === undefined);
    await Promise.all(missing.map((id) => log(id).reload(isCurrent)));
    return missing;
  }
  function fill(): void {
    for (const id of listed)
      void log(id)
        .fill()
        .catch(() => undefined);
  }
  function onChange(state: string): void {
    if (state !== 'live') return;
    fill();
    outbox.resume();
  }

  function emit(name: string, payload: unknown): void {
    for (const key of [name, '*'])
      for (const listener of listeners.get(key) ?? []) callSafely(() => listener(payload as never, name));
  }
  function onEvent(name: string, payload: unknown): void {
    const { workspace_id: id = '', seq, message } = payload as Partial<ServerEvents['message.new']>;
    if (name === 'workspace.subscribed') return subscribed(payload as ServerEvents['workspace.subscribed']);
    if (name === 'workspace.new' || name === 'workspace.deleted') connection.synchronize();
    if (since()[id] === undefined) return emit(name, payload);
    const isAwaited = name === 'message.done' || message?.content.type === 'action_card';
    void log(id).event(name, payload, () => {
      emit(name, payload);
      if (seq !== undefined && device.id !== undefined) connection.report(id, seq, isAwaited);
    });
    const { in_ms: inMs } = payload as ServerEvents['workspace.resync'];
    if (name === 'workspace.resync')
      void log(id)
        .expire()
        .then(() => delay(inMs))
        .then(connection.synchronize);
  }
  function subscribed(payload: ServerEvents['workspace.subscribed']): void {
    const applied = payload.workspace_ids.map((id) => log(id).event('workspace.subscribed', payload, () => undefined));
    void Promise.all(applied).then(() => emit('workspace.subscribed', payload));
    for (const { workspace_id: id, code } of payload.rejected) {
      if (code === 'workspace_not_found') connection.synchronize();
      // The service repeats the others by itself.
      if (code === 'rate_limited') void delay(1_000 + backOff(1)).then(() => connection.subscribe([id]));
    }
  }

  /** @returns the id of the message that the service has stored */
  async function send({ workspace_id, conversation_id, local_id, text, mentions, files }: OutboxItem): Promise<string> {
    const attachments = files.map((file) => ({ id: 'id' in file ? file.id : '' }));
    const path = { workspaceId: workspace_id, id: conversation_id };
    const body = { local_id, content: { type: 'text', text }, mentions, attachments };
    const route = '/v1/workspaces/{workspaceId}/conversations/{id}/messages';
    const { data } = (await http.send('post', route, { path, body, retries: 0 })).body as { data: MessageData };
    await log(workspace_id).receive(data);
    return data.id;
  }
  async function restore(): Promise<void> {
    await outbox.restore();
    const [entry] = await store.load(SCOPE);
    listed = (entry?.[1] as string[] | undefined) ?? [];
    await Promise.all(listed.map((id) => log(id).restore()));
    workspaces.refresh();
  }

  function conversation(workspaceId: string, id: string) {
    const { loadPage, hasOlder, receive, ...own } = log(workspaceId);
    const messages = own.messages(id);
    if (connection.signal.get().state === 'live') fill();
    const path = (messageId: string) => ({ path: { workspaceId, id: messageId } });
    const lastOf = (fits: (message: ShownMessage) => boolean) =>
      messages
        .get()
        .flatMap((one) => (one.id !== null && fits(one) ? one.id : []))
        .pop();
    return {
      /** The loaded messages, oldest first, then those of the outbox. */
      messages,
      /** Stores the message, shows it, and sends it as soon as possible. @returns its id once the service has stored it */
      async send(draft: Draft): Promise<string> {
        await loaded;
        const stored = messages.get().find((one) => one.id !== null && one.local_id === draft.local_id)?.id;
        return stored ?? outbox.add({ workspace_id: workspaceId, conversation_id: id }, draft);
      },
      /** Loads older messages. @returns whether there are more */
      older: async (): Promise<boolean> => loadPage(id).then(() => hasOlder(id)),
      /** Marks everything as read that is loaded. */
      async read(): Promise<void> {
        const message_id = lastOf(() => true);
        const route = '/v1/workspaces/{workspaceId}/conversations/{id}/read';
        if (message_id !== undefined) await http.api.post(route, { ...path(id), body: { message_id } });
      },
      /** Stops all answers to a message of the user, by default the newest one. */
      async stop(messageId: string = lastOf(({ role }) => role === 'user') ?? ''): Promise<void> {
        await http.api.post('/v1/workspaces/{workspaceId}/messages/{id}/stop', path(messageId));
      },
      /** Chooses an action of a card. */
      async choose(messageId: string, action_id: string): Promise<void> {
        const route = '/v1/workspaces/{workspaceId}/messages/{id}/action';
        await receive((await http.api.post(route, { ...path(messageId), body: { action_id } })).data);
      },
    };
  }

  return {
    api: http.api,
    upload: http.upload as (
      file: Uploadable,
      options?: Parameters<typeof http.upload>[1],
    ) => ReturnType<typeof http.upload>,
    connection: connection.signal,
    /** What waits to be sent, or was refused. */
    outbox: outbox.signal,
    workspaces,
    workspace: (id: string) => ({
      conversations: log(id).conversations,
      swarm: log(id).swarm,
      conversation: (conversationId: string) => conversation(id, conversationId),
    }),
    /** Events in their order, when they are applied; for `*`, all of them, also of later releases. @returns a function that ends it */
    on<Name extends keyof ServerEvents | '*'>(
      name: Name,
      listener: (payload: Name extends keyof ServerEvents ? ServerEvents[Name] : unknown, name: string) => void,
    ): () => void {
      const all = listeners.get(name) ?? new Set();
      listeners.set(name, all);
      return added(all, listener as Listener);
    },
    /** Shows what is stored, and connects. @returns when the stored state is shown */
    async start(): Promise<void> {
      loaded ??= restore().catch(() => undefined);
      await loaded;
      leavePage();
      leavePage = followPage(connection);
      connection.start();
    },
    async close(): Promise<void> {
      leavePage();
      connection.stop('offline', 'closed');
      for (const one of logs.values()) one.close();
      await store.close();
    },
    /** Forgets everything, also what waits to be sent. */
    async signOut(): Promise<void> {
      connection.stop('signed_out', null);
      outbox.forget();
      await list([]);
      await store.clear();
    },
    /** For platforms without `visibilitychange`. */
    background: connection.background,
    foreground: connection.foreground,
  };
}

type Target = Partial<Pick<EventTarget, 'addEventListener' | 'removeEventListener'>> & { visibilityState?: string };

/** In a browser, follows the visibility of the page and the network. @returns a function that ends it */
function followPage({ background, foreground, connect, lost }: ReturnType<typeof createConnection>): () => void {
  const page = globalThis as Target & { document?: Target };
  const show = (): void => (page.document?.visibilityState === 'hidden' ? background() : foreground());
  const all = [
    [page.document, 'visibilitychange', show],
    [page, 'online', connect],
    [page, 'offline', lost],
  ] as const;
  for (const [target, name, listener] of all) target?.addEventListener?.(name, listener);
  return () => all.forEach(([target, name, listener]) => target?.removeEventListener?.(name, listener));
}
