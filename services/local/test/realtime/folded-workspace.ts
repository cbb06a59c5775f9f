/** An API object with its revision. */
export interface Revised {
  id: string;
  rev: number;
}

export interface Message extends Revised {
  conversation_id: string;
  role: string;
  local_id: string | null;
  /** Sorts a conversation's messages. */
  position: string;
  created_at: string;
  agent: { name: string } | null;
  content: { type: string; text?: string; title?: string; selected_action_id?: string | null; actions?: CardAction[] };
}

export interface CardAction {
  id: string;
  label: string;
}

export interface Conversation extends Revised {
  updated_at: string;
  last_message: Message | null;
}

export interface Workspace extends Revised {
  runtime: { last_message_preview: { text: string; sender_name: string; timestamp: string } | null };
}

interface Stream {
  generation: number;
  text: string;
}

export type Payload = Record<string, unknown>;

/** A client's knowledge of a workspace. */
export interface FoldedWorkspace {
  epoch: string;
  position: number;
  workspace: Workspace;
  conversations: Map<string, Conversation>;
  messages: Map<string, Message>;
  deleted: Set<string>;
  streams: Map<string, Stream>;
  statuses: Map<string, { status: string; until: number }>;
}

/** Folds an event into a client's state, by the rules in docs/realtime.md. @param violation reports a broken promise */
export function fold(folded: FoldedWorkspace, name: string, payload: Payload, violation: (text: string) => void): void {
  switch (name) {
    case 'message.new':
    case 'message.updated': {
      const message = payload['message'] as Message;
      replace(folded.messages, message, folded.deleted);
      if (message.content.type !== 'loading') folded.streams.delete(message.id);
      change(folded, payload);
      break;
    }
    case 'message.deleted': {
      const id = String(payload['message_id']);
      folded.deleted.add(id);
      folded.messages.delete(id);
      folded.streams.delete(id);
      change(folded, payload);
      break;
    }
    case 'conversation.new':
    case 'conversation.updated':
      replace(folded.conversations, payload['conversation'] as Conversation, folded.deleted);
      break;
    case 'conversation.deleted':
      deleteConversation(folded, String(payload['conversation_id']));
      replaceWorkspace(folded, payload['workspace']);
      break;
    case 'workspace.updated':
      replaceWorkspace(folded, payload['workspace']);
      break;
    case 'message.chunk':
      stream(folded, payload, violation);
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

/** The state in `workspace.subscribed`, which no stored event contains. */
export function restore(folded: FoldedWorkspace, state: unknown): void {
  const { agents, streams } = state as { agents: Payload[]; streams: (Stream & { message_id: string })[] };
  folded.statuses.clear();
  for (const agent of agents) setStatus(folded, agent, agent['until_ms']);
  folded.streams = new Map(streams.map(({ message_id: id, generation, text }) => [id, { generation, text }]));
}

/** An agent's status that a client shows now. */
export function shownStatus({ statuses }: FoldedWorkspace, agentId: string, now = performance.now()): string {
  const known = statuses.get(agentId);
  return known !== undefined && known.until > now ? known.status : 'online';
}

/** I3: an object replaces another iff its `rev` is higher. */
function replace<Item extends Revised>(items: Map<string, Item>, item: Item, deleted: ReadonlySet<string>): void {
  if (deleted.has(item.id) || deleted.has(String((item as Partial<Message>).conversation_id))) return;
  const known = items.get(item.id);
  if (known === undefined || item.rev > known.rev) items.set(item.id, item);
}

function deleteConversation(folded: FoldedWorkspace, id: string): void {
  folded.deleted.add(id);
  folded.conversations.delete(id);
  for (const message of folded.messages.values()) {
    if (message.conversation_id !== id) continue;
    folded.messages.delete(message.id);
    folded.deleted.add(message.id);
    folded.streams.delete(message.id);
  }
}

/** Changes by a message event to its conversation and its workspace. */
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
  const newer = workspace as Workspace | undefined;
  if (newer !== undefined && newer.rev > folded.workspace.rev) folded.workspace = newer;
}

/** `text := text[0..offset) + chunk`. A hole is a violation: the text that a user sees would have one. */
function stream(folded: FoldedWorkspace, payload: Payload, violation: (text: string) => void): void {
  const {
    message_id: id,
    generation,
    offset,
    chunk,
  } = payload as unknown as { message_id: string; generation: number; offset: number; chunk: string };
  if (folded.deleted.has(id)) return;
  const known = folded.streams.get(id);
  if (known !== undefined && generation < known.generation) return;
  const text = known?.generation === generation ? known.text : '';
  if (offset > text.length) violation(`a chunk of ${id} begins at ${offset}, but the text ends at ${text.length}`);
  folded.streams.set(id, { generation, text: text.slice(0, offset) + chunk });
}

function setStatus(folded: FoldedWorkspace, payload: Payload, untilMs: unknown): void {
  const until = typeof untilMs === 'number' ? performance.now() + untilMs : Infinity;
  folded.statuses.set(String(payload['agent_id']), { status: String(payload['status']), until });
}
