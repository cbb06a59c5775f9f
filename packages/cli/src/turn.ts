import type { MessageData, MessageContent, ServerEventName, ServerEventPayload } from '@uswarm/contract';

export type Outcome = 'delivered' | 'failed';

type Status = MessageData['extended_status'];

/** An agent message in a turn. */
interface Produced {
  readonly content: MessageContent;
  readonly agentId: string | undefined;
  readonly status: Status;
  /** Message revision. */
  readonly rev: number;
  /** True for a finished reply. */
  readonly ended: boolean;
}

/** Identifies the user message of a choice, which has no local id. */
export interface ChosenAction {
  /** Message text. */
  readonly label: string;
  /** Position of the last message before it. */
  readonly after: string;
}

/** The known state of a user message and of everything that agents do because of it. */
export interface Turn {
  readonly conversationId: string;
  /** Undefined for a chosen action, which the server turns into a user message. */
  readonly localId: string | undefined;
  /** The action that was chosen. */
  readonly choice?: ChosenAction;
  /** The user message, once it is stored. */
  readonly messageId?: string;
  /** Agent messages by id, in creation order. */
  readonly produced: ReadonlyMap<string, Produced>;
  /** True if the user stopped it: then nothing follows what has ended. */
  readonly stopped: boolean;
  /** Whether it ends with the workflows that it starts, and the reply that reports them. */
  readonly waitsForWorkflows: boolean;
  /** True if the user message was deleted or failed. */
  readonly lost: boolean;
  /** Set if the server rejected the user message. */
  readonly rejection?: { error: string; code: string };
}

export function newTurn(conversationId: string, localId: string | undefined, waitsForWorkflows = true): Turn {
  return { conversationId, localId, produced: new Map(), stopped: false, waitsForWorkflows, lost: false };
}

/** A server event with its payload. */
export type ServerEvent = {
  [Name in ServerEventName]: { name: Name; payload: ServerEventPayload<Name> };
}[ServerEventName];

/** Applies an event. Events in other conversations change nothing. */
export function applyEvent(turn: Turn, event: ServerEvent): Turn {
  switch (event.name) {
    case 'message.send.ack':
      return event.payload.local_id === turn.localId ? { ...turn, messageId: event.payload.message_id } : turn;
    case 'message.send.error':
      return event.payload.local_id === turn.localId ? { ...turn, rejection: event.payload } : turn;
    case 'message.new':
      return applyMessage(turn, event.payload.message, true);
    case 'message.updated':
      return applyMessage(turn, event.payload.message, false);
    case 'message.done':
      return applyEnd(turn, event.payload.message_id, event.payload.status);
    case 'message.deleted':
      return applyDeletion(turn, event.payload.message_id);
    default:
      return turn;
  }
}

function applyDeletion(turn: Turn, deletedId: string): Turn {
  if (deletedId === turn.messageId) return { ...turn, produced: new Map(), lost: true };
  const deleted = turn.produced.get(deletedId);
  if (deleted === undefined) return turn;
  const produced = new Map(turn.produced);
  produced.delete(deletedId);
  return { ...turn, produced, lost: turn.lost || isReply(deleted.content) };
}

function applyEnd(turn: Turn, messageId: string, status: Outcome): Turn {
  const reply = turn.produced.get(messageId);
  if (reply === undefined) return turn;
  // The message has the exact status, such as `silent`, unless its last event was lost.
  const exact = reply.status === 'pending' ? status : reply.status;
  return { ...turn, produced: new Map(turn.produced).set(messageId, { ...reply, status: exact, ended: true }) };
}

function isUserMessage({ messageId, localId, choice }: Turn, message: MessageData): boolean {
  if (message.role !== 'user' || messageId !== undefined) return false;
  if (localId !== undefined) return message.local_id === localId;
  if (choice === undefined || message.local_id !== null || message.position <= choice.after) return false;
  return contentText(message.content) === choice.label;
}

/** True if the turn's user message is among these messages. */
export const hasUserMessage = (turn: Turn, messages: readonly MessageData[]): boolean =>
  messages.some((message) => message.id === turn.messageId || isUserMessage(turn, message));

function applyMessage(turn: Turn, message: MessageData, isNew: boolean): Turn {
  if (message.conversation_id !== turn.conversationId) return turn;
  if (isNew && isUserMessage(turn, message)) return { ...turn, messageId: message.id };
  const known = turn.produced.get(message.id);
  if (message.role !== 'agent' || (known === undefined && !isNew)) return turn;
  // Events and responses can arrive in any order.
  const rev = message.rev ?? 0;
  if (known !== undefined && rev < known.rev) return turn;
  const state = {
    content: message.content,
    agentId: message.agent?.id,
    status: message.extended_status,
    rev,
    ended: known?.ended ?? false,
  };
  return { ...turn, produced: new Map(turn.produced).set(message.id, state) };
}

export const isReply = ({ type }: MessageContent): boolean => type === 'loading' || type === 'text';

const isRunning = ({ content }: Produced): boolean =>
  (content.type === 'delegation' || content.type === 'workflow') && content.status === 'running';

/** True if a card waits for the user. */
export const isOpenCard = (content: MessageContent, status: Status): boolean =>
  content.type === 'action_card' && (content.selected_action_id ?? null) === null && status !== 'failed';

/**
 * How a turn ended; undefined while something of it runs. A turn with an open card has ended: the user decides how it continues.
 * A reply that ended `delegated`, delegations and workflows are followed by another reply.
 */
export function outcomeOf({ produced, stopped, lost, waitsForWorkflows }: Turn): Outcome | undefined {
  if (lost) return 'failed';
  const all = [...produced.values()];
  const replies = all.filter(({ content }) => isReply(content));
  const last = replies.at(-1);
  if (replies.some(({ ended }) => !ended)) return undefined;
  const outcome = last?.status === 'failed' || last?.status === 'incomplete' ? 'failed' : 'delivered';
  if (all.some(({ content, status }) => isOpenCard(content, status))) return outcome;
  const awaited = waitsForWorkflows ? all : all.filter(({ content }) => content.type !== 'workflow');
  if (awaited.some(isRunning)) return undefined;
  const isOver = last === undefined ? hasOnlyCards(all) : !isFollowed(awaited, last);
  return isOver || (stopped && all.length > 0) ? outcome : undefined;
}

/** True if a turn without a reply ends with a card. A delegation would be followed by a reply. */
function hasOnlyCards(all: readonly Produced[]): boolean {
  const types = new Set(all.map(({ content }) => content.type));
  return types.has('action_card') && !types.has('delegation');
}

/** True if another reply follows the last one. */
function isFollowed(all: readonly Produced[], last: Produced): boolean {
  if (last.status === 'delegated') return true;
  const agents = new Set(all.flatMap(({ content, agentId }) => (isReply(content) ? [agentId] : [])));
  return all.slice(all.indexOf(last) + 1).some(({ content, rev }) => {
    if (content.type === 'workflow') return content.status !== 'cancelled';
    // A reply whose delegations ended first contains their results. A sub-agent that delegates does not reply to the user.
    const isFrom = content.type === 'delegation' && (!content.from || agents.has(content.from.id));
    return isFrom && rev >= last.rev;
  });
}

/** Text of a text or system message. */
export function contentText(content: MessageContent): string | undefined {
  return content.type === 'text' || content.type === 'system' ? content.text : undefined;
}

/** Applies the newest messages. They replace events that were missed. */
export function applyHistory(turn: Turn, messages: readonly MessageData[]): Turn {
  const ordered = inCreationOrder(messages);
  const index = ordered.findIndex((message) => message.id === turn.messageId || isUserMessage(turn, message));
  const userMessage = ordered[index];
  if (userMessage === undefined) return turn;
  const stored: Turn = { ...turn, messageId: userMessage.id };
  const later = ordered.slice(index + 1).filter(({ role }) => role === 'agent');
  if (later.length === 0 && userMessage.extended_status === 'failed') return { ...stored, lost: true };
  return later.reduce((state, message) => {
    const known = applyMessage(state, message, true);
    return message.extended_status === 'pending' || !isReply(message.content)
      ? known
      : applyEnd(known, message.id, 'delivered');
  }, stored);
}

/** Their position differs: tool messages come before the reply that they belong to. */
export function inCreationOrder(messages: readonly MessageData[]): MessageData[] {
  const key = ({ created_at: at, id }: MessageData): string => `${at} ${id}`;
  return messages.toSorted((one, other) => (key(one) < key(other) ? -1 : 1));
}
