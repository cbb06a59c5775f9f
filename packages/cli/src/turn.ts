import type { ListedMessage, MessageContent, MessageData, ServerEventName, ServerEventPayload } from '@uswarm/contract';
import { addChunk, NOTHING_STREAMED, type StreamedText } from './chunk-reducer.js';

export type Outcome = 'delivered' | 'failed';

/** The known state of a user message and of the agent message that answers it. */
export interface Turn {
  readonly conversationId: string;
  readonly localId: string;
  /** The user message, once it is stored. */
  readonly messageId?: string;
  /** The agent message, once it exists. */
  readonly agentMessageId?: string;
  readonly agentId?: string;
  readonly streamed: StreamedText;
  /** The text of the agent message; undefined while it is loading. */
  readonly text?: string;
  readonly outcome?: Outcome;
  /** Set if the server rejected the user message. */
  readonly rejection?: { error: string; code: string };
}

export function newTurn(conversationId: string, localId: string): Turn {
  return { conversationId, localId, streamed: NOTHING_STREAMED };
}

/** An event of a server, with its payload. */
export type ServerEvent = {
  [Name in ServerEventName]: { name: Name; payload: ServerEventPayload<Name> };
}[ServerEventName];

/** Applies an event. Events of other turns change nothing. */
export function applyEvent(turn: Turn, event: ServerEvent): Turn {
  switch (event.name) {
    case 'message.send.ack':
      return event.payload.local_id === turn.localId ? { ...turn, messageId: event.payload.message_id } : turn;
    case 'message.send.error':
      return event.payload.local_id === turn.localId ? { ...turn, rejection: event.payload } : turn;
    case 'message.new':
      return applyMessage(
        isFirstAnswer(turn, event.payload.message) ? withAgentMessage(turn, event.payload.message) : turn,
        event.payload.message,
      );
    case 'message.updated':
      return applyMessage(turn, event.payload.message);
    case 'message.chunk':
      if (event.payload.message_id !== turn.agentMessageId) return turn;
      return { ...turn, streamed: addChunk(turn.streamed, event.payload) };
    case 'message.done':
      return event.payload.message_id === turn.agentMessageId ? { ...turn, outcome: event.payload.status } : turn;
    case 'message.deleted':
      return applyDeletion(turn, event.payload.message_id);
    default:
      return turn;
  }
}

/** A turn fails when its user message or its agent message is deleted. */
function applyDeletion(turn: Turn, deletedId: string): Turn {
  if (deletedId !== turn.messageId && deletedId !== turn.agentMessageId) return turn;
  const { conversationId, localId, messageId } = turn;
  const failed = { ...newTurn(conversationId, localId), outcome: 'failed' } as const;
  return messageId === undefined ? failed : { ...failed, messageId };
}

type AnyMessage = MessageData | ListedMessage;

/** Selects the first agent message of the conversation that has, or will have, text. */
function isFirstAnswer(turn: Turn, message: AnyMessage): boolean {
  return (
    turn.agentMessageId === undefined &&
    message.conversation_id === turn.conversationId &&
    message.role === 'agent' &&
    (message.content.type === 'loading' || message.content.type === 'text')
  );
}

function withAgentMessage(turn: Turn, message: AnyMessage): Turn {
  return { ...turn, agentMessageId: message.id, ...(message.agent === null ? {} : { agentId: message.agent.id }) };
}

function applyMessage(turn: Turn, message: AnyMessage): Turn {
  if (message.id !== turn.agentMessageId) return turn;
  const text = contentText(message.content);
  return text === undefined ? turn : { ...turn, text };
}

/** The text of a text or system message. */
export function contentText(content: MessageContent): string | undefined {
  return content.type === 'text' || content.type === 'system' ? content.text : undefined;
}

/** Applies the newest messages of the conversation, newest first. It replaces events that were missed. */
export function applyHistory(turn: Turn, newestFirst: readonly ListedMessage[]): Turn {
  const index = newestFirst.findIndex(({ id, local_id }) => id === turn.messageId || local_id === turn.localId);
  const userMessage = newestFirst[index];
  if (userMessage === undefined) return turn;
  const stored: Turn = { ...turn, messageId: userMessage.id };
  const later = newestFirst.slice(0, index).toReversed();
  const answer = later.find((message) => message.id === stored.agentMessageId || isFirstAnswer(stored, message));
  if (answer === undefined) return userMessage.extended_status === 'failed' ? { ...stored, outcome: 'failed' } : stored;
  const answered = applyMessage(withAgentMessage(stored, answer), answer);
  const outcome = outcomeOf(answer);
  return outcome === undefined ? answered : { ...answered, outcome };
}

function outcomeOf({ extended_status: status }: ListedMessage): Outcome | undefined {
  if (status === 'pending') return undefined;
  return status === 'failed' || status === 'incomplete' ? 'failed' : 'delivered';
}
