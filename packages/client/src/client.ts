import { backOff, createHttp, createSeen, delay, type Fetch } from './api.js';
import { createConnection } from './connection.js';
import { conversationsOf, copyOf, fold, putMessage, swarmOf, valuesIn, type Position, type Records } from './fold.js';
import type { MessageData, ServerEvents, Workspace } from './gen/types.js';
import { createOutbox, type NewMessage, type OutboxItem } from './outbox.js';
import { computed, createDatabase, type Store } from './store.js';
import { openSocket, openStream } from './transports.js';
import { createLoader, messagesOf, type ShownMessage } from './workspace.js';

export interface ClientOptions {
  /** Of the REST API, and of the realtime gateway if it differs. */
  url: string;
  realtimeUrl?: string;
  /** The user's ID token; asked for at each request. `refresh`: the last one was refused or expires. */
  token(options: { refresh: boolean }): Promise<string> | string;
  /** By default the state is lost when the process ends. */
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

/** A client for one user on one device. It never throws because of the network: that is state. */
export function createClient({ url, realtimeUrl = url, store, device = {}, ...options }: ClientOptions) {
  const fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
  const listeners = new Map<string, Set<Listener>>();
  const opened = new Map<string, ReturnType<typeof openMessages>>();
  const signals = new Map<string, { refresh(): void }>();
  const closing = new AbortController();
  let loaded: Promise<void> | undefined;
  let expiry: ReturnType<typeof setTimeout> | undefined;
  let leavePage = (): void => undefined;

  const db = createDatabase(store, shown);
  const seen = createSeen();
  const http = createHttp(url, fetch, headers, closing.signal, seen);
  const loader = createLoader(db, http, opened);
  const outbox = createOutbox({ db, closing: closing.signal, ready, send, upload: http.upload });
  const open = options.transport === 'sse' ? openStream : openSocket;
  const connection = createConnection({
    url: realtimeUrl,
    fetch,
    open,
    headers,
    since: loader.since,
    prepare: loader.prepare,
    onEvent,
    onChange,
    backgroundMs: options.backgroundMs ?? 10_000,
  });
  const workspaces = signal('workspaces', () =>
    valuesIn<{ full?: Workspace }>(db.records, 'workspaces/').flatMap(copyOf),
  );

  /** Created once by name. */
  function signal<Value>(name: string, compute: () => Value) {
    const known = (signals.get(name) ?? computed(compute)) as ReturnType<typeof computed<Value>>;
    signals.set(name, known);
    return known;
  }
  function openMessages(w: string, id: string) {
    const isSame = (a: ShownMessage[], b: ShownMessage[]) =>
      a.length === b.length && a.every((one, at) => one === b[at]);
    return computed(() => messagesOf(db.records, w, id, outbox.items()), isSame);
  }
  function shown(changes: Records): void {
    for (const value of changes.values()) {
      const { role, local_id: localId, id } = (value ?? {}) as Partial<MessageData>;
      if (role === 'user' && localId && id) outbox.settle(localId, id);
    }
    if ([...changes.keys()].some((key) => key.startsWith('workspaces/'))) loader.follow();
    for (const messages of opened.values()) messages.refresh();
    if (![...changes.keys()].every((key) => key.includes('/~stream/'))) refresh();
  }
  function refresh(): void {
    for (const each of signals.values()) each.refresh();
    clearTimeout(expiry);
    const ends = [...db.records].flatMap(([key, value]) =>
      key.includes('/~status/') ? (value as { until: number }).until : [],
    );
    const next = Math.min(...ends.filter((end) => end > performance.now()));
    if (next < Infinity) expiry = setTimeout(refresh, next - performance.now() + 1);
  }
  function ready(): boolean {
    return connection.signal.get().state === 'live';
  }
  async function headers(isRefused: boolean): Promise<Record<string, string>> {
    const { id, info, version, timezone = Intl.DateTimeFormat().resolvedOptions().timeZone } = device;
    const known = { 'x-device-id': id, 'x-device-info': info, 'x-version': version, 'x-timezone': timezone };
    const all = { 'x-token': await options.token({ refresh: isRefused }), ...known };
    return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined));
  }
  function onChange(): void {
    if (!ready()) return;
    loader.fill();
    outbox.resume();
  }

  function emit(name: string, payload: unknown): void {
    for (const key of [name, '*'])
      for (const listener of listeners.get(key) ?? []) queueMicrotask(() => listener(payload as never, name));
  }
  async function onEvent(name: string, payload: unknown): Promise<void> {
    const event = payload as Partial<ServerEvents['message.new'] & ServerEvents['workspace.resync']>;
    const { workspace_id: w = '', seq, message, in_ms: inMs = 0 } = event;
    const { workspace_ids: ids = [w], rejected = [] } = payload as Partial<ServerEvents['workspace.subscribed']>;
    await db.update((draft) => {
      for (const id of ids) fold(draft, id, name, payload, performance.now());
      if (name === 'workspace.resync') draft.set(`${w}/position`);
    });
    const applied = db.records.get(`${w}/position`) as Position | undefined;
    if (seq !== undefined && applied) seen.add(w, applied.epoch, seq);
    emit(name, payload);
    const isAwaited = name === 'message.done' || message?.content.type === 'action_card';
    if (seq !== undefined && device.id !== undefined) connection.report(w, seq, isAwaited);
    if (name === 'workspace.resync') await delay(inMs);
    const isMissing = rejected.some(({ code }) => code === 'workspace_not_found');
    if (isMissing || /^workspace\.(new|deleted|resync)$/.test(name)) connection.synchronize();
    // The service repeats the others by itself.
    const limited = rejected.flatMap(({ workspace_id: id, code }) => (code === 'rate_limited' ? [id] : []));
    if (limited.length > 0) await delay(1_000 + backOff(1)).then(() => connection.subscribe(limited));
  }

  async function send(item: OutboxItem): Promise<string> {
    const { workspace_id: w, conversation_id: id, local_id, text, mentions, files, steer } = item;
    const attachments = files.map((file) => ({ id: 'id' in file ? file.id : '' }));
    const body = { local_id, content: { type: 'text', text }, mentions, attachments, steer };
    const route = '/v1/workspaces/{workspaceId}/conversations/{id}/messages';
    const { body: answer } = await http.send('post', route, { path: { workspaceId: w, id }, body, retries: 0 });
    const message = (answer as { data: MessageData }).data;
    await db.update((draft) => putMessage(draft, w, message));
    return message.id;
  }
  async function restore(): Promise<void> {
    for (const scope of ['outbox', 'workspaces']) await db.load(scope);
    for (const { id } of workspaces.get()) await db.load(id);
    for (const each of [...opened.values(), ...signals.values()]) each.refresh();
  }

  function conversation(workspaceId: string, id: string) {
    const key = `${workspaceId}/${id}`;
    const messages = opened.get(key) ?? openMessages(workspaceId, id);
    if (!opened.has(key)) opened.set(key, messages);
    if (ready()) loader.fill();
    const path = (messageId: string) => ({ path: { workspaceId, id: messageId } });
    const lastOf = (fits: (message: ShownMessage) => boolean) =>
      messages
        .get()
        .flatMap((one) => (one.id !== null && fits(one) ? one.id : []))
        .pop();
    return {
      /** The loaded messages, oldest first, then the outbox. */
      messages,
      /** Stores the message, shows it, and sends it as soon as possible. @returns its id once the service has stored it */
      async send(message: NewMessage): Promise<string> {
        await loaded;
        const stored = messages.get().find((one) => one.id !== null && one.local_id === message.local_id)?.id;
        return stored ?? outbox.add({ workspace_id: workspaceId, conversation_id: id }, message);
      },
      /** Loads older messages. @returns whether there are more */
      older: () => loader.loadPage(workspaceId, id),
      /** Marks everything as read that is loaded. */
      async read(): Promise<void> {
        const message_id = lastOf(() => true);
        const route = '/v1/workspaces/{workspaceId}/conversations/{id}/read';
        if (message_id !== undefined) await http.api.post(route, { ...path(id), body: { message_id } });
      },
      /** Stops all answers to a user message, by default the newest one. */
      stop: (messageId: string = lastOf(({ role }) => role === 'user') ?? '') =>
        http.api.post('/v1/workspaces/{workspaceId}/messages/{id}/stop', path(messageId)),
      /** Chooses a card action. `form`: with the values that the user entered. */
      async choose(message: string, action_id: string, form: { values?: Record<string, string[]> } = {}) {
        const route = '/v1/workspaces/{workspaceId}/messages/{id}/action';
        const { data } = await http.api.post(route, { ...path(message), body: { action_id, ...form } });
        await db.update((draft) => putMessage(draft, workspaceId, data));
      },
    };
  }

  return {
    api: http.api,
    upload: http.upload,
    connection: connection.signal,
    /** What waits to be sent, or was refused. */
    outbox: { ...signal('outbox', outbox.items), ...outbox.actions },
    workspaces,
    workspace: (w: string) => ({
      conversations: signal(`${w}/conversations`, () => conversationsOf(db.records, w)),
      swarm: signal(`${w}/swarm`, () => swarmOf(db.records, w, performance.now())),
      conversation: (id: string) => conversation(w, id),
    }),
    /** Events in their order, when they are applied; for `*`, all of them, also of later releases. @returns a function that ends it */
    on<Name extends keyof ServerEvents | '*'>(
      name: Name,
      listener: (payload: Name extends keyof ServerEvents ? ServerEvents[Name] : unknown, name: string) => void,
    ): () => void {
      const all = listeners.get(name) ?? new Set();
      listeners.set(name, all.add(listener as Listener));
      return () => void all.delete(listener as Listener);
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
      closing.abort();
      clearTimeout(expiry);
      await store?.close();
    },
    /** Forgets everything, also what waits to be sent. */
    async signOut(): Promise<void> {
      connection.stop('signed_out', null);
      await db.update((draft) => draft.deleteAll(''));
      await store?.clear();
    },
    /** For platforms without `visibilitychange`. */
    background: connection.background,
    foreground: connection.foreground,
  };
}

type Target = Partial<Pick<EventTarget, 'addEventListener' | 'removeEventListener'>> & { visibilityState?: string };
/** In a browser, follows page visibility and the network. @returns a function that ends it */
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
