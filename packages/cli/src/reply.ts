import type { ListedMessage, MessageContent, MessageData, ServerEventName, ServerEventPayload } from '@uswarm/contract';
import { addChunk, NOTHING_STREAMED, type StreamedText } from './chunk-reducer.js';

export type Outcome = 'delivered' | 'failed';

/** What is known of a question and its reply. */
export interface Reply {
  readonly conversationId: string;
  readonly localId: string;
  /** The id of the question, once it is stored. */
  readonly questionId?: string;
  /** The id of the agent's message, once it has begun. */
  readonly replyId?: string;
  readonly agentId?: string;
  readonly streamed: StreamedText;
  /** What the agent's message says now; undefined until it says something. */
  readonly text?: string;
  readonly outcome?: Outcome;
  /** Why the question was not taken. */
  readonly refusal?: { error: string; code: string };
}

export function newReply(conversationId: string, localId: string): Reply {
  return { conversationId, localId, streamed: NOTHING_STREAMED };
}

/** An event of a server, with its payload. */
export type ServerEvent = {
  [Name in ServerEventName]: { name: Name; payload: ServerEventPayload<Name> };
}[ServerEventName];

/** Takes an event into account; events of other questions change nothing. */
export function followEvent(reply: Reply, event: ServerEvent): Reply {
  switch (event.name) {
    case 'message.send.ack':
      return event.payload.local_id === reply.localId ? { ...reply, questionId: event.payload.message_id } : reply;
    case 'message.send.error':
      return event.payload.local_id === reply.localId ? { ...reply, refusal: event.payload } : reply;
    case 'message.new':
      return followMessage(
        beginsReply(reply, event.payload.message) ? begun(reply, event.payload.message) : reply,
        event.payload.message,
      );
    case 'message.updated':
      return followMessage(reply, event.payload.message);
    case 'message.chunk':
      if (event.payload.message_id !== reply.replyId) return reply;
      return { ...reply, streamed: addChunk(reply.streamed, event.payload) };
    case 'message.done':
      return event.payload.message_id === reply.replyId ? { ...reply, outcome: event.payload.status } : reply;
    case 'message.deleted':
      return followDeletion(reply, event.payload.message_id);
    default:
      return reply;
  }
}

/** Without its question, or once its message is deleted, no reply is to be expected. */
function followDeletion(reply: Reply, messageId: string): Reply {
  if (messageId !== reply.questionId && messageId !== reply.replyId) return reply;
  const { conversationId, localId, questionId } = reply;
  const kept = { ...newReply(conversationId, localId), outcome: 'failed' } as const;
  return questionId === undefined ? kept : { ...kept, questionId };
}

type AnyMessage = MessageData | ListedMessage;

/** The first message of an agent after the question that holds, or will hold, text. */
function beginsReply(reply: Reply, message: AnyMessage): boolean {
  return (
    reply.replyId === undefined &&
    message.conversation_id === reply.conversationId &&
    message.role === 'agent' &&
    (message.content.type === 'loading' || message.content.type === 'text')
  );
}

function begun(reply: Reply, message: AnyMessage): Reply {
  return { ...reply, replyId: message.id, ...(message.agent === null ? {} : { agentId: message.agent.id }) };
}

function followMessage(reply: Reply, message: AnyMessage): Reply {
  if (message.id !== reply.replyId) return reply;
  const text = wordsOf(message.content);
  return text === undefined ? reply : { ...reply, text };
}

/** The text of a message that is made of text. */
export function wordsOf(content: MessageContent): string | undefined {
  return content.type === 'text' || content.type === 'system' ? content.text : undefined;
}

/** Takes the newest messages of the conversation into account, newest first: what events that were missed would have said. */
export function followHistory(reply: Reply, newestFirst: readonly ListedMessage[]): Reply {
  const position = newestFirst.findIndex(({ id, local_id }) => id === reply.questionId || local_id === reply.localId);
  const question = newestFirst[position];
  if (question === undefined) return reply;
  const known: Reply = { ...reply, questionId: question.id };
  const later = newestFirst.slice(0, position).toReversed();
  const message = later.find((candidate) => candidate.id === known.replyId || beginsReply(known, candidate));
  if (message === undefined) return question.extended_status === 'failed' ? { ...known, outcome: 'failed' } : known;
  const followed = followMessage(begun(known, message), message);
  const outcome = outcomeOf(message);
  return outcome === undefined ? followed : { ...followed, outcome };
}

function outcomeOf({ extended_status: status }: ListedMessage): Outcome | undefined {
  if (status === 'pending') return undefined;
  return status === 'failed' || status === 'incomplete' ? 'failed' : 'delivered';
}
