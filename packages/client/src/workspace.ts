import { UswarmError, type createHttp } from './api.js';
import * as folding from './fold.js';
import type { AgentSummary, Conversation, MessageContent, MessageData, MessagePage, Workspace } from './gen/types.js';
import type { Outbox, OutboxItem } from './outbox.js';
import { computed, type Store } from './store.js';

export type ShownMessage = ReturnType<typeof show>;

const shown = new WeakMap<object, { stream: folding.Stream | undefined; view: ReturnType<typeof viewOf> }>();

function viewOf(message: MessageData | null, local: OutboxItem | null, stream?: folding.Stream) {
  const content: MessageContent = message?.content ?? { type: 'text', text: local?.text ?? '' };
  const streaming = content.type === 'loading';
  const localId = message?.local_id ?? local?.local_id ?? null;
  return {
    /** Stays the same when a message of the outbox is stored. */
    key: localId ?? message?.id ?? '',
    /** Null while it is in the outbox only. */
    id: message?.id ?? null,
    local_id: localId,
    role: message?.role ?? 'user',
    /** What was written so far; empty for content without a text. */
    text: streaming ? (stream?.text ?? '') : 'text' in content ? (content.text ?? '') : '',
    /** Of any type, also of those of later releases. */
    content,
    /** Whether more text may follow. */
    streaming,
    /** The `extended_status`, or the state in the outbox. */
    status: message?.extended_status ?? local?.state ?? 'queued',
    message,
    local,
  };
}
/** The same object as long as nothing of it changes. */
function show(message: MessageData | null, local: OutboxItem | null, stream?: folding.Stream) {
  const source = message ?? local ?? {};
  const known = shown.get(source);
  if (known !== undefined && known.stream === stream) return known.view;
  const view = viewOf(message, local, stream);
  shown.set(source, { stream, view });
  return view;
}
/** The loaded messages of a conversation in their order, then those of the outbox that are not stored. */
export function shownMessages(records: folding.Records, id: string, waiting: readonly OutboxItem[]): ShownMessage[] {
  const from = (records.get(`window/${id}`) as folding.Window | undefined)?.from;
  const own = folding.messagesIn(records).filter(({ conversation_id: each }) => each === id);
  const loaded = own.filter(({ position }) => from !== undefined && position >= from);
  const local = waiting.filter((item) => !own.some((one) => one.local_id === item.local_id));
  return [
    ...loaded.map((one) => show(one, null, records.get(`~stream/${one.id}`) as folding.Stream | undefined)),
    ...local.flatMap((item) => (item.conversation_id === id ? show(null, item) : [])),
  ];
}
const sameItems = <Item>(a: readonly Item[], b: readonly Item[]): boolean =>
  a.length === b.length && a.every((item, index) => item === b[index]);
const sameJson = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

export type WorkspaceLog = ReturnType<typeof createWorkspaceLog>;
export type LogDeps = { http: ReturnType<typeof createHttp>; store: Store; outbox: Outbox; changed(): void };
type Answer = { body: unknown; position: string | null };

const PAGE = 50;
const MESSAGES = '/v1/workspaces/{workspaceId}/conversations/{id}/messages';

function positionOf({ position }: Answer): folding.Position {
  const [epoch = '', seq] = (position ?? '').split(':');
  return { epoch, seq: Number(seq) };
}
function windowOf({ data, pagination }: MessagePage): folding.Window {
  const next = pagination.has_next ? pagination.next_scroll_id : null;
  return { from: next === null ? '' : (data.at(-1)?.position ?? ''), next };
}

/** What is known of a workspace: folded, stored, then shown. */
export function createWorkspaceLog(id: string, { http, store, outbox, changed }: LogDeps) {
  const scope = `workspace/${id}`;
  const records: folding.Records = new Map();
  const unsaved: folding.Records = new Map();
  const conversations = computed(() => folding.conversationsOf(records), sameJson);
  const swarm = computed(() => folding.swarmOf(records, performance.now()), sameJson);
  const open = (each: string) => computed(() => shownMessages(records, each, outbox.items()), sameItems);
  const opened = new Map<string, ReturnType<typeof open>>();
  const get = <Value>(key: string) => records.get(key) as Value | undefined;
  let tail: Promise<unknown> = Promise.resolve();
  let expiry: ReturnType<typeof setTimeout> | undefined;

  function refresh(keys: Iterable<string>): void {
    for (const messages of opened.values()) messages.refresh();
    if ([...keys].every((key) => key.startsWith('~stream'))) return;
    conversations.refresh();
    changed();
    refreshSwarm();
  }
  function refreshSwarm(): void {
    swarm.refresh();
    clearTimeout(expiry);
    const ends = [...records].flatMap(([key, value]) =>
      key.startsWith('~status') ? (value as { until: number }).until : [],
    );
    const next = Math.min(...ends.filter((end) => end > performance.now()));
    if (next < Infinity) expiry = setTimeout(refreshSwarm, next - performance.now() + 1);
  }
  function confirm(changes: folding.Records): void {
    for (const value of changes.values()) {
      const { role, local_id: localId, id: messageId } = (value ?? {}) as Partial<MessageData>;
      if (role === 'user' && localId && messageId) outbox.confirm(localId, messageId);
    }
  }
  /** Changes the records one after the other; stores the changes, then shows them. What could not be stored is stored with the next change. */
  function update(change: (draft: ReturnType<typeof folding.createDraft>) => boolean | void): Promise<void> {
    const task = async (): Promise<void> => {
      const draft = folding.createDraft(records);
      if (change(draft) === false) return;
      for (const [key, value] of draft.changes) {
        if (value === undefined) records.delete(key);
        else records.set(key, value);
        if (!key.startsWith('~')) unsaved.set(key, value);
      }
      const changes = [...unsaved].map(([key, value]) => ({ scope, key, value }));
      if (changes.length > 0)
        await store.commit(changes).then(
          () => unsaved.clear(),
          () => undefined,
        );
      confirm(draft.changes);
      refresh(draft.changes.keys());
    };
    const result = tail.then(task);
    tail = result.catch(() => undefined);
    return result;
  }

  const fetch = (path: string): Promise<Answer> => http.send('get', path, { path: { id, workspaceId: id } });
  const fetchPage = (conversationId: string, scrollId: string | null = null): Promise<Answer> =>
    http.send('get', MESSAGES, {
      path: { workspaceId: id, id: conversationId },
      query: { limit: PAGE, ...(scrollId !== null && { scrollId }) },
    });
  function putPage(draft: ReturnType<typeof folding.createDraft>, conversationId: string, page: MessagePage): void {
    for (const message of page.data) folding.putMessage(draft, message);
    if (!draft.get(`~gone/${conversationId}`)) draft.set(`window/${conversationId}`, windowOf(page));
  }
  const epoch = (): string | undefined => get<folding.Position>('position')?.epoch;

  /** Loads the newest page of a conversation, or the one before those that are loaded. */
  async function loadPage(conversationId: string): Promise<void> {
    const key = `window/${conversationId}`;
    const before = get<folding.Window>(key);
    if (epoch() === undefined || before?.next === null) return;
    const page = await fetchPage(conversationId, before?.next);
    await update((draft) => {
      // Otherwise the workspace was loaded again meanwhile, with the conversation.
      if (positionOf(page).epoch !== epoch() || get(key) !== before) return false;
      putPage(draft, conversationId, page.body as MessagePage);
    });
  }
  /** Replaces everything: first the position, then the state; the events after the position follow. */
  async function reload(isCurrent: () => boolean): Promise<void> {
    const first = await fetch('/v1/workspaces/{id}');
    const ids = [...opened.keys()];
    const ifFound = (error: unknown): undefined => {
      if (!(error instanceof UswarmError && error.status === 404)) throw error;
    };
    const [list, agents, ...pages] = await Promise.all([
      fetch('/v1/workspaces/{workspaceId}/conversations'),
      fetch('/v1/workspaces/{workspaceId}/agents'),
      ...ids.map((each) => fetchPage(each).catch(ifFound)),
    ]);
    const position = positionOf(first);
    if ([list, agents, ...pages].some((one) => one && positionOf(one).epoch !== position.epoch))
      throw new UswarmError('network_error', 'the epoch changed while the workspace was loaded');
    await update((draft) => {
      if (!isCurrent()) return false;
      const fresh = folding.createDraft(new Map());
      folding.putCopy(fresh, 'workspace', (first.body as { data: Workspace }).data);
      for (const one of (list.body as { data: Conversation[] }).data)
        folding.putCopy(fresh, `conversation/${one.id}`, one);
      pages.forEach((page, index) => page && putPage(fresh, ids[index] ?? '', page.body as MessagePage));
      fresh.set('agents', (agents.body as { data: AgentSummary[] }).data);
      fresh.set('position', position);
      draft.deleteAll('');
      for (const [key, value] of fresh.changes) draft.changes.set(key, value);
    });
  }

  return {
    id,
    conversations,
    swarm,
    loadPage,
    reload,
    workspace: () => folding.copyOf<Workspace>(records, 'workspace'),
    /** `epoch:seq`; undefined if the workspace is to be loaded. */
    position(): string | undefined {
      const position = get<folding.Position>('position');
      return position && `${position.epoch}:${position.seq}`;
    },
    async restore(): Promise<void> {
      for (const [key, value] of await store.load(scope)) records.set(key, value);
      confirm(records);
      refresh(records.keys());
    },
    /** @param seen called when the event is stored and shown */
    event: (name: string, payload: unknown, seen: () => void) =>
      update((draft) => folding.fold(draft, id, name, payload, performance.now())).then(seen),
    receive: (message: MessageData) => update((draft) => folding.putMessage(draft, message)),
    receiveWorkspace: (workspace: Workspace) => update((draft) => folding.putCopy(draft, 'workspace', workspace)),
    /** The workspace is to be loaded again. */
    expire: () => update((draft) => draft.set('position')),
    forget: () => update((draft) => draft.deleteAll('')),
    messages(conversationId: string) {
      const messages = opened.get(conversationId) ?? open(conversationId);
      opened.set(conversationId, messages);
      return messages;
    },
    hasOlder: (conversationId: string) => get<folding.Window>(`window/${conversationId}`)?.next !== null,
    /** Loads the conversations that were opened meanwhile. */
    fill: () => Promise.all([...opened.keys()].filter((each) => !records.has(`window/${each}`)).map(loadPage)),
    refresh: () => opened.forEach((messages) => messages.refresh()),
    close: () => clearTimeout(expiry),
  };
}
