import type {
  AgentSummary,
  AgentToolEvent,
  Conversation,
  MessageData,
  ServerEvents,
  StreamState,
} from './gen/types.js';

/** What a client knows, by `scope/key`. Keys with `~` are not stored. As changes: undefined deletes. */
export type Records = Map<string, unknown>;
type Revised = { rev?: number | undefined };
/** An object, and the newest part of it in an event about a message. Each replaces its predecessor by `rev`. */
export type Copy<Item> = { full?: Item; change?: Partial<Item> & Revised };
export type Position = { epoch: string; seq: number };
export type Stream = Pick<StreamState, 'generation' | 'chunk_seq' | 'text'>;
/** The messages from position `from` on are loaded; `next` is the cursor for the page before, null if there is none. */
export type Window = { from: string; next: string | null };
/** Until a monotonic time. */
type LiveStatus = { status: string; conversation_id?: string; until: number };
type AnyEvent = Partial<ServerEvents['message.new'] & ServerEvents['message.done'] & ServerEvents['conversation.new']>;
export type Draft = ReturnType<typeof createDraft>;

export function createDraft(records: Records) {
  const changes: Records = new Map();
  const get = <Value>(key: string) => (changes.has(key) ? changes.get(key) : records.get(key)) as Value | undefined;
  const set = (key: string, value?: unknown): void => void (get(key) !== value && changes.set(key, value));
  const deleteAll = (prefix: string, fits: (value: never) => boolean = () => true): void =>
    records.forEach((value, key) => key.startsWith(prefix) && fits(value as never) && changes.set(key, undefined));
  return { records, changes, get, set, deleteAll };
}
const isOlder = (item: Revised, known: Revised | undefined): boolean =>
  known !== undefined && item.rev !== undefined && item.rev <= (known.rev ?? -1);

/** @param w the workspace id */
export function putMessage(draft: Draft, w: string, message: MessageData): void {
  const { id, conversation_id: conversationId, truncated, content, local_id: localId } = message;
  // The outbox ends where the message is stored.
  if (localId !== null && message.role === 'user') draft.set(`outbox/${localId}`);
  if (truncated || draft.get(`${w}/~gone/${id}`) || draft.get(`${w}/~gone/${conversationId}`)) return;
  if (isOlder(message, draft.get(`${w}/message/${id}`))) return;
  draft.set(`${w}/message/${id}`, message);
  if (content.type !== 'loading') draft.set(`${w}/~stream/${id}`);
}
/** A conversation or workspace, or a part of it, which has no id. */
export function putCopy(draft: Draft, key: string, item: Revised | undefined): void {
  const [copy, part] = [draft.get<Copy<Revised>>(key), item && 'id' in item ? 'full' : 'change'] as const;
  if (item === undefined || draft.get(key.replace('conversation', '~gone')) === true || isOlder(item, copy?.[part]))
    return;
  draft.set(key, { ...copy, [part]: item });
}
/** All agents. Messages get the present names and pictures, as in a response, because no event about them follows. */
export function putAgents(draft: Draft, w: string, agents: AgentSummary[], rev: number | undefined): void {
  draft.set(`${w}/agents`, agents);
  draft.set(`${w}/agents-rev`, rev);
  for (const key of draft.records.keys()) {
    const message = key.startsWith(`${w}/message/`) ? draft.get<MessageData>(key) : undefined;
    const { name, avatar } = agents.find(({ id }) => id === message?.agent?.id) ?? {};
    const isOther = message?.agent?.name !== name || message?.agent?.avatar !== avatar;
    if (message && name && isOther) draft.set(key, { ...message, agent: { ...message.agent, name, avatar } });
  }
}
/** The text becomes its first `offset` units and the chunk. What is repeated, or follows a missing part, changes nothing. */
function putChunk(draft: Draft, w: string, event: ServerEvents['message.chunk']): void {
  const { message_id: id, generation, chunk_seq, ...part } = event;
  const content = draft.get<MessageData>(`${w}/message/${id}`)?.content;
  const known = draft.get<Stream>(`${w}/~stream/${id}`) ?? { text: '', chunk_seq: 0, generation: 0 };
  if (draft.get(`${w}/~gone/${id}`) || (content && content.type !== 'loading') || generation < known.generation) return;
  const [text, last] = known.generation === generation ? [known.text, known.chunk_seq] : ['', 0];
  const start = part.offset ?? (chunk_seq === last + 1 ? text.length : Infinity);
  if (chunk_seq <= last) return;
  const next = { generation, chunk_seq, text: text.slice(0, start) + part.chunk };
  draft.set(`${w}/~stream/${id}`, start > text.length ? { generation, chunk_seq: last, text } : next);
}
function putStatus(draft: Draft, w: string, status: { agent_id: string; status: string }, until: number): void {
  const isIdle = status.status === 'online';
  draft.set(`${w}/~status/${status.agent_id}`, isIdle ? undefined : { ...status, until });
  if (isIdle) draft.set(`${w}/~tool/${status.agent_id}`);
}
type Live = NonNullable<ServerEvents['workspace.subscribed']['state']>[string];
/** State that no stored event contains. */
function restore(draft: Draft, w: string, { agents, streams }: Live, now: number): void {
  for (const kind of ['~status', '~stream', '~tool']) draft.deleteAll(`${w}/${kind}/`);
  for (const agent of agents) putStatus(draft, w, agent, now + (agent.until_ms ?? Infinity));
  for (const { message_id: id, ...stream } of streams) draft.set(`${w}/~stream/${id}`, stream);
}

/** Events with API objects. */
const OBJECTS = /^(message|conversation|workspace)\.(new|updated|done|deleted)$/;

/** Applies an event. Unknown ones change only the position. @param now monotonic milliseconds */
export function fold(draft: Draft, w: string, name: string, payload: unknown, now: number): void {
  const { seq } = payload as AnyEvent;
  const position = draft.get<Position>(`${w}/position`);
  if (seq !== undefined && position && seq > position.seq) draft.set(`${w}/position`, { ...position, seq });
  const event = (OBJECTS.test(name) ? payload : {}) as AnyEvent;
  const { message, conversation, workspace, message_id: messageId } = event;
  const id = message?.conversation_id ?? conversation?.id ?? event.conversation_id ?? '';
  const as = <Name extends keyof ServerEvents>(each: Name) =>
    name === each ? (payload as ServerEvents[Name]) : undefined;
  if (message) putMessage(draft, w, message);
  if (as('message.deleted')) {
    draft.set(`${w}/~gone/${messageId}`, true);
    for (const kind of ['message', '~stream']) draft.set(`${w}/${kind}/${messageId}`);
  }
  if (as('conversation.deleted')) {
    draft.set(`${w}/~gone/${id}`, true);
    for (const kind of ['conversation', 'window']) draft.set(`${w}/${kind}/${id}`);
    draft.deleteAll(`${w}/message/`, (one: MessageData) => one.conversation_id === id);
  }
  const question = message?.in_reply_to ?? event.in_reply_to;
  if (event.answer_ended !== undefined && question) draft.set(`${w}/answered/${question}`, event.answer_ended);
  putCopy(draft, `${w}/conversation/${id}`, conversation);
  putCopy(draft, `workspaces/${w}`, workspace);
  const [chunk, status, tool] = [as('message.chunk'), as('agent.status'), as('agent.tool')];
  if (chunk) putChunk(draft, w, chunk);
  if (status) putStatus(draft, w, status, now + (status.expires_in_ms ?? Infinity));
  if (tool) draft.set(`${w}/~tool/${tool.agent_id}`, tool.status === 'running' ? tool : undefined);
  const live = as('workspace.subscribed')?.state?.[w];
  if (live) restore(draft, w, live, now);
}

export const valuesIn = <Value>(records: Records, prefix: string): Value[] =>
  [...records].flatMap(([key, value]) => (key.startsWith(prefix) ? [value as Value] : []));
/** The object with its newest part. */
export function copyOf<Item extends Revised>({ full, change }: Copy<Item> = {}): Item[] {
  return full ? [change && (change.rev ?? 0) > (full.rev ?? -1) ? { ...full, ...change } : full] : [];
}
export const messagesIn = (records: Records, w: string): MessageData[] =>
  valuesIn<MessageData>(records, `${w}/message/`).sort((a, b) => (a.position < b.position ? -1 : 1));

/** The conversations, most recently active first. Their last messages follow from the messages. */
export function conversationsOf(records: Records, w: string): Conversation[] {
  const messages = messagesIn(records, w);
  const all = valuesIn<Copy<Conversation>>(records, `${w}/conversation/`)
    .flatMap(copyOf)
    .map((conversation) => {
      const own = messages.filter(({ conversation_id: id }) => id === conversation.id);
      const known = own.filter(({ content }) => content.type !== 'tool_status').pop() ?? null;
      const listed = records.has(`${w}/~gone/${conversation.last_message?.id}`) ? null : conversation.last_message;
      const last_message = listed && (known === null || listed.position > known.position) ? listed : known;
      const updated_at = own.reduce((at, one) => (one.created_at > at ? one.created_at : at), conversation.updated_at);
      return { ...conversation, updated_at, last_message };
    });
  return all.sort((a, b) => (a.updated_at > b.updated_at ? -1 : 1));
}
/** The present activity of all agents in a workspace, and the messages that show running delegations and workflows. */
export function swarmOf(records: Records, w: string, now: number) {
  const agents = ((records.get(`${w}/agents`) as AgentSummary[] | undefined) ?? []).map((agent) => {
    const known = records.get(`${w}/~status/${agent.id}`) as LiveStatus | undefined;
    const { status: live = 'online', conversation_id } = known && known.until > now ? known : {};
    const tool = records.get(`${w}/~tool/${agent.id}`) as AgentToolEvent | undefined;
    return { ...agent, live, conversation_id, tool: live === 'online' ? undefined : tool };
  });
  const isRunning = ({ content }: MessageData): boolean =>
    (content.type === 'delegation' || content.type === 'workflow') && content.status === 'running';
  return { agents, tasks: messagesIn(records, w).filter(isRunning) };
}
