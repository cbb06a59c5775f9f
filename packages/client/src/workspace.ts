import { toError, UswarmError, type Http } from './api.js';
import * as folding from './fold.js';
import type { AgentSummary, Conversation, MessageContent, MessageData, MessagePage, Workspace } from './gen/types.js';
import type { OutboxItem } from './outbox.js';
import type { Database } from './store.js';

export type ShownMessage = ReturnType<typeof viewOf>;
const views = new WeakMap<object, { stream: folding.Stream | undefined; view: ShownMessage }>();

function viewOf(message: MessageData | null, local: OutboxItem | null, answered: boolean, stream?: folding.Stream) {
  const content: MessageContent = message?.content ?? { type: 'text', text: local?.text ?? '' };
  const streaming = content.type === 'loading';
  const localId = message?.local_id ?? local?.local_id ?? null;
  return {
    /** Stays the same when an outbox message is stored. */
    key: localId ?? message?.id ?? '',
    /** Null while it is in the outbox only. */
    id: message?.id ?? null,
    local_id: localId,
    role: message?.role ?? 'user',
    /** The text so far; empty for content without a text. */
    text: streaming ? (stream?.text ?? '') : 'text' in content ? (content.text ?? '') : '',
    /** Of any type, also from later releases. */
    content,
    /** True while more text may follow. */
    streaming,
    /** The `extended_status`, or the state in the outbox. */
    status: message?.extended_status ?? local?.state ?? 'queued',
    /** For a user message: true if everything that answers it has ended. */
    answered,
    message,
    local,
  };
}
/** The same object as long as nothing of it changes. */
function show(
  message: MessageData | null,
  local: OutboxItem | null,
  answered = false,
  stream?: folding.Stream,
): ShownMessage {
  const source = message ?? local ?? {};
  const known = views.get(source);
  if (known !== undefined && known.stream === stream && known.view.answered === answered) return known.view;
  const view = viewOf(message, local, answered, stream);
  views.set(source, { stream, view });
  return view;
}
/** No event tells it after a workspace was loaded. */
function seemsAnswered({ id, extended_status: status }: MessageData, all: readonly MessageData[]): boolean {
  const replies = all.filter(({ in_reply_to: question }) => question === id);
  const isOpen = ({ content, extended_status: each }: MessageData): boolean =>
    each === 'pending' || ('status' in content && content.status === 'running');
  return status === 'read' && replies.length > 0 && !replies.some(isOpen);
}
/** The loaded messages in order, then the outbox. */
export function messagesOf(records: folding.Records, w: string, id: string, outbox: OutboxItem[]): ShownMessage[] {
  const from = (records.get(`${w}/window/${id}`) as folding.Window | undefined)?.from;
  const own = folding.messagesIn(records, w).filter(({ conversation_id: each }) => each === id);
  const loaded = own.filter(({ position }) => from !== undefined && position >= from);
  function isAnswered(one: MessageData): boolean {
    if (one.role !== 'user') return false;
    const other = own.find(({ id: each }) => each === one.answered_with);
    if (other !== undefined) return isAnswered(other);
    return (records.get(`${w}/answered/${one.id}`) as boolean | undefined) ?? seemsAnswered(one, own);
  }
  const streamOf = (one: MessageData) => records.get(`${w}/~stream/${one.id}`) as folding.Stream | undefined;
  return [
    ...loaded.map((one) => show(one, null, isAnswered(one), streamOf(one))),
    ...outbox.flatMap((item) => (item.conversation_id === id ? show(null, item) : [])),
  ];
}

type Answer = { body: unknown; position: string | null };
const data = <Value>({ body }: Answer): Value => (body as { data: Value }).data;
function positionOf({ position }: Answer): folding.Position {
  const [epoch = '', seq] = (position ?? '').split(':');
  return { epoch, seq: Number(seq) };
}
function putPage(draft: folding.Draft, w: string, conversationId: string, page: MessagePage): void {
  const { data: messages, pagination } = page;
  const next = pagination.has_next ? pagination.next_scroll_id : null;
  const from = next === null ? '' : (messages.at(-1)?.position ?? '');
  for (const message of messages) folding.putMessage(draft, w, message);
  if (!draft.get(`${w}/~gone/${conversationId}`)) draft.set(`${w}/window/${conversationId}`, { from, next });
}

const forget = (draft: folding.Draft, w: string): void =>
  [`${w}/`, `workspaces/${w}`].forEach((scope) => draft.deleteAll(scope));

const agentsRevOf = (records: Pick<folding.Records, 'get'>, w: string): number | undefined =>
  folding.copyOf(records.get(`workspaces/${w}`) as folding.Copy<Workspace> | undefined)[0]?.agents_rev;

/** Loads what events cannot tell. `opened` has the conversations that are shown, as `workspace/conversation`. */
export function createLoader(db: Database, http: Http, opened: ReadonlyMap<string, unknown>) {
  /** Agents that are being loaded, as `workspace agents_rev`. */
  const requested = new Set<string>();
  const get = <Value>(key: string) => db.records.get(key) as Value | undefined;
  const fetchPage = (workspaceId: string, id: string, scrollId: string | null = null): Promise<Answer> =>
    http.send('get', '/v1/workspaces/{workspaceId}/conversations/{id}/messages', {
      path: { workspaceId, id },
      query: { limit: 50, ...(scrollId !== null && { scrollId }) },
    });
  /** The position in each workspace, `epoch:seq`; without workspaces that must be reloaded. */
  const since = (): Record<string, string> =>
    Object.fromEntries(
      [...db.records].flatMap(([key, value]) => {
        const { epoch, seq } = value as folding.Position;
        return key.endsWith('/position') ? [[key.split('/')[0], `${epoch}:${seq}`]] : [];
      }),
    );

  /** Loads the newest page, or the one before the loaded messages. @returns true if there are older messages */
  async function loadPage(w: string, id: string): Promise<boolean> {
    const [key, position] = [`${w}/window/${id}`, `${w}/position`];
    const before = get<folding.Window>(key);
    if (get(position) === undefined || before?.next === null) return before?.next !== null;
    const page = await fetchPage(w, id, before?.next);
    await db.update((draft) => {
      // Otherwise the workspace was loaded again meanwhile, with the conversation.
      const isSame =
        positionOf(page).epoch === draft.get<folding.Position>(position)?.epoch && draft.get(key) === before;
      if (isSame) putPage(draft, w, id, page.body as MessagePage);
    });
    return get<folding.Window>(key)?.next !== null;
  }
  /** Replaces a workspace: first the position, then the state; the events after the position follow. */
  async function reload(w: string, isCurrent: () => boolean): Promise<void> {
    const load = (path: string): Promise<Answer> => http.send('get', path, { path: { id: w, workspaceId: w } });
    const ifFound = (error: unknown): undefined => {
      if (toError(error).status !== 404) throw error;
    };
    const first = await load('/v1/workspaces/{id}');
    const ids = [...opened.keys()].flatMap((key) => (key.startsWith(`${w}/`) ? [key.slice(w.length + 1)] : []));
    const [conversations, agents, ...pages] = await Promise.all([
      load('/v1/workspaces/{workspaceId}/conversations'),
      load('/v1/workspaces/{workspaceId}/agents'),
      ...ids.map((id) => fetchPage(w, id).catch(ifFound)),
    ]);
    const position = positionOf(first);
    // The epoch changed meanwhile.
    if ([conversations, agents, ...pages].some((one) => one && positionOf(one).epoch !== position.epoch))
      throw new UswarmError('network_error');
    await db.update((draft) => {
      if (!isCurrent()) return;
      forget(draft, w);
      folding.putCopy(draft, `workspaces/${w}`, data<Workspace>(first));
      for (const one of data<Conversation[]>(conversations)) folding.putCopy(draft, `${w}/conversation/${one.id}`, one);
      for (const [index, page] of pages.entries())
        if (page) putPage(draft, w, ids[index] ?? '', page.body as MessagePage);
      folding.putAgents(draft, w, data<AgentSummary[]>(agents), data<Workspace>(first).agents_rev);
      draft.set(`${w}/position`, position);
    });
  }
  /** Loads agents again if the workspace has another `agents_rev` than they had. */
  async function loadAgents(w: string): Promise<void> {
    const rev = agentsRevOf(db.records, w);
    const request = `${w} ${rev}`;
    if (get(`${w}/position`) === undefined || rev === get(`${w}/agents-rev`) || requested.has(request)) return;
    requested.add(request);
    try {
      const options = { path: { workspaceId: w }, retries: Infinity };
      const agents = data<AgentSummary[]>(await http.send('get', '/v1/workspaces/{workspaceId}/agents', options));
      await db.update((draft) => agentsRevOf(draft, w) === rev && folding.putAgents(draft, w, agents, rev));
    } finally {
      requested.delete(request);
    }
  }
  const listed = (): string[] =>
    [...db.records.keys()].flatMap((key) => (key.startsWith('workspaces/') ? (key.split('/')[1] ?? []) : []));
  /** Loads the workspace list, and missing workspaces. @returns these */
  async function prepare(isCurrent: () => boolean): Promise<string[]> {
    try {
      const list = (await http.api.get('/v1/workspaces')).data;
      await db.update((draft) => {
        const ids = new Set(list.map(({ id }) => id));
        for (const w of listed()) if (!ids.has(w)) forget(draft, w);
        for (const one of list) folding.putCopy(draft, `workspaces/${one.id}`, one);
      });
    } catch (error) {
      // With a resume token, a connection is possible while the service is not available.
      if (!toError(error).retryable || Object.keys(since()).length === 0) throw error;
    }
    const known = since();
    const missing = listed().filter((w) => known[w] === undefined);
    await Promise.all(missing.map((w) => reload(w, isCurrent)));
    return missing;
  }
  const follow = (): void => listed().forEach((w) => void loadAgents(w).catch(() => undefined));
  /** Loads the conversations that were opened meanwhile, and changed agents. */
  function fill(): void {
    follow();
    for (const [w = '', id = ''] of [...opened.keys()].map((key) => key.split('/')))
      if (get(`${w}/window/${id}`) === undefined) void loadPage(w, id).catch(() => undefined);
  }
  return { since, loadPage, prepare, fill, follow };
}
