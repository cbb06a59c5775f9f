import type {
  AgentSummary,
  AgentToolEvent,
  Conversation,
  MessageData,
  ServerEvents,
  StreamState,
} from './gen/types.js';

/** What a client knows of a workspace. Keys that begin with `~` are not stored. As changes: undefined deletes. */
export type Records = Map<string, unknown>;
type Revised = { rev?: number | undefined };
/** An object, and the newest part of it in an event about a message. Each replaces its predecessor by `rev`. */
type Copy<Item> = { full?: Item; change?: Partial<Item> & Revised };
export type Position = { epoch: string; seq: number };
export type Stream = Pick<StreamState, 'generation' | 'chunk_seq' | 'text'>;
/** The messages from the position `from` on are loaded; `next` is the cursor of the page before, null if there is none. */
export type Window = { from: string; next: string | null };
/** Until a time of the monotonic clock. */
type LiveStatus = { status: string; conversation_id?: string; until: number };
type AnyEvent = Partial<ServerEvents['message.new'] & ServerEvents['message.done'] & ServerEvents['conversation.new']>;
type Draft = ReturnType<typeof createDraft>;

export function createDraft(records: Records) {
  const changes: Records = new Map();
  const get = <Value>(key: string) => (changes.has(key) ? changes.get(key) : records.get(key)) as Value | undefined;
  const set = (key: string, value?: unknown): void => void (get(key) !== value && changes.set(key, value));
  const deleteAll = (prefix: string, fits: (value: never) => boolean = () => true): void =>
    records.forEach((value, key) => key.startsWith(prefix) && fits(value as never) && changes.set(key, undefined));
  return { changes, get, set, deleteAll };
}

const isOlder = (item: Revised, known: Revised | undefined): boolean =>
  known !== undefined && item.rev !== undefined && item.rev <= (known.rev ?? -1);

export function putMessage(draft: Draft, message: MessageData): void {
  const { id, conversation_id: conversationId, truncated, content } = message;
  if (truncated || draft.get(`~gone/${id}`) || draft.get(`~gone/${conversationId}`)) return;
  if (isOlder(message, draft.get(`message/${id}`))) return;
  draft.set(`message/${id}`, message);
  if (content.type !== 'loading') draft.set(`~stream/${id}`);
}

/** A conversation or workspace, or a part of it, which has no id. */
export function putCopy(draft: Draft, key: string, item: Revised | undefined): void {
  const [copy, part] = [draft.get<Copy<Revised>>(key), item && 'id' in item ? 'full' : 'change'] as const;
  if (item === undefined || draft.get(`~gone/${key.split('/')[1]}`) || isOlder(item, copy?.[part])) return;
  draft.set(key, { ...copy, [part]: item });
}

/** The text becomes its first `offset` units and the chunk. What is repeated, or follows a missing part, changes nothing. */
function putChunk(
  draft: Draft,
  { message_id: id, generation, chunk_seq, chunk, offset }: ServerEvents['message.chunk'],
) {
  const content = draft.get<MessageData>(`message/${id}`)?.content;
  const known = draft.get<Stream>(`~stream/${id}`) ?? { text: '', chunk_seq: 0, generation: 0 };
  if (draft.get(`~gone/${id}`) || (content && content.type !== 'loading') || generation < known.generation) return;
  const [text, last] = known.generation === generation ? [known.text, known.chunk_seq] : ['', 0];
  const start = offset ?? (chunk_seq === last + 1 ? text.length : Infinity);
  if (chunk_seq <= last || start > text.length) return;
  draft.set(`~stream/${id}`, { generation, chunk_seq, text: text.slice(0, start) + chunk });
}

function putStatus(draft: Draft, status: { agent_id: string; status: string }, until: number): void {
  const isIdle = status.status === 'online';
  draft.set(`~status/${status.agent_id}`, isIdle ? undefined : { ...status, until });
  if (isIdle) draft.set(`~tool/${status.agent_id}`);
}

/** What no stored event contains. */
function restore(draft: Draft, live: NonNullable<ServerEvents['workspace.subscribed']['state']>[string], now: number) {
  for (const prefix of ['~status/', '~stream/', '~tool/']) draft.deleteAll(prefix);
  for (const agent of live.agents) putStatus(draft, agent, now + (agent.until_ms ?? Infinity));
  for (const { message_id: id, ...stream } of live.streams) draft.set(`~stream/${id}`, stream);
}

/** Applies an event to a draft. Unknown events change only the position, and the objects that they contain. @param now of the monotonic clock */
export function fold(draft: Draft, workspaceId: string, name: string, payload: unknown, now: number): void {
  const event = payload as AnyEvent;
  const { message, conversation, workspace, seq, message_id: messageId } = event;
  const id = message?.conversation_id ?? conversation?.id ?? event.conversation_id ?? '';
  if (message !== undefined) putMessage(draft, message);
  if (name === 'message.deleted') {
    draft.set(`~gone/${messageId}`, true);
    for (const kind of ['message', '~stream']) draft.set(`${kind}/${messageId}`);
  }
  if (name === 'conversation.deleted') {
    draft.set(`~gone/${id}`, true);
    for (const kind of ['conversation', 'window']) draft.set(`${kind}/${id}`);
    draft.deleteAll('message/', (one: MessageData) => one.conversation_id === id);
  }
  putCopy(draft, `conversation/${id}`, conversation);
  putCopy(draft, 'workspace', workspace);
  const as = <Name extends keyof ServerEvents>(each: Name) =>
    name === each ? (payload as ServerEvents[Name]) : undefined;
  const [chunk, status, tool] = [as('message.chunk'), as('agent.status'), as('agent.tool')];
  if (chunk) putChunk(draft, chunk);
  if (status) putStatus(draft, status, now + (status.expires_in_ms ?? Infinity));
  if (tool) draft.set(`~tool/${tool.agent_id}`, tool.status === 'running' ? tool : undefined);
  const live = as('workspace.subscribed')?.state?.[workspaceId];
  if (live) restore(draft, live, now);
  const position = draft.get<Position>('position');
  if (seq !== undefined && position !== undefined && seq > position.seq) draft.set('position', { ...position, seq });
}

/** The object with its newest part. */
export function copyOf<Item extends Revised>(records: Records, key: string): Item | undefined {
  const { full, change } = (records.get(key) ?? {}) as Copy<Item>;
  return full && change && (change.rev ?? 0) > (full.rev ?? -1) ? { ...full, ...change } : full;
}

/** All known messages in the order of their positions. */
export const messagesIn = (records: Records): MessageData[] =>
  [...records]
    .flatMap(([key, value]) => (key.startsWith('message/') ? [value as MessageData] : []))
    .sort((a, b) => (a.position < b.position ? -1 : 1));

/** The conversations, most recently active first. Their last messages follow from the messages. */
export function conversationsOf(records: Records): Conversation[] {
  const messages = messagesIn(records);
  const all = [...records.keys()].flatMap((key) => {
    const conversation = key.startsWith('conversation/') && copyOf<Conversation>(records, key);
    if (!conversation) return [];
    const own = messages.filter(({ conversation_id: id }) => id === conversation.id);
    const known = own.filter(({ content }) => content.type !== 'tool_status').pop() ?? null;
    const listed = records.has(`~gone/${conversation.last_message?.id}`) ? null : conversation.last_message;
    const last_message = listed && (known === null || listed.position > known.position) ? listed : known;
    const updated_at = own.reduce((at, one) => (one.created_at > at ? one.created_at : at), conversation.updated_at);
    return [{ ...conversation, updated_at, last_message }];
  });
  return all.sort((a, b) => (a.updated_at > b.updated_at ? -1 : 1));
}

/** What the agents of a workspace do now, and the messages of the delegations and workflows that run. */
export function swarmOf(records: Records, now: number) {
  const agents = ((records.get('agents') as AgentSummary[] | undefined) ?? []).map((agent) => {
    const known = records.get(`~status/${agent.id}`) as LiveStatus | undefined;
    const { status: live = 'online', conversation_id } = known && known.until > now ? known : {};
    const tool = records.get(`~tool/${agent.id}`) as AgentToolEvent | undefined;
    return { ...agent, live, conversation_id, tool: live === 'online' ? undefined : tool };
  });
  const tasks = messagesIn(records).filter(
    ({ content }) => (content.type === 'delegation' || content.type === 'workflow') && content.status === 'running',
  );
  return { agents, tasks };
}
