import { emptyReplyText, type MessageData, type ServerEventPayload } from '@uswarm/contract';
import { addChunk, NOTHING_STREAMED, printedBefore, type StreamedText, textOf } from './chunk-reducer.js';
import { failureLine } from './content-lines.js';
import type { Screen } from './screen.js';
import { oneLine, type Paint, printable } from './terminal-text.js';
import { contentText } from './turn.js';

interface Reply {
  id: string;
  agent: string;
  streamed: StreamedText;
  /** The complete text, once it is known. */
  text: string | undefined;
  status: MessageData['extended_status'];
  error: MessageData['error'];
  ended: boolean;
  /** Whether the agent has shown something else meanwhile, such as a card. */
  hasShown: boolean;
  printed?: { generation: number; text: string };
}

interface OpenReply extends Reply {
  agentId: string | undefined;
}

/** A chat's output about the replies to one message; a later chat continues after it. */
export interface PrintedReplies {
  finished: string[];
  /** The reply that is streamed. */
  current?: { id: string; agent: string; agentId?: string | undefined; generation: number; text: string } | undefined;
}

/** Prints agents' replies, one after the other. */
export interface Replies {
  update(message: MessageData): void;
  chunk(chunk: ServerEventPayload<'message.chunk'>): void;
  end(messageId: string, status: 'delivered' | 'failed'): void;
  remove(messageId: string): void;
  /** Output by message id. */
  printed(ids: ReadonlySet<string>): PrintedReplies;
  /** Continues after what an earlier chat has printed. */
  resume(printed: PrintedReplies): void;
  /** True if a part of a reply is printed. */
  readonly isStreaming: boolean;
  /** The agent has shown something other than a reply. */
  shown(agentId: string | undefined): void;
}

export interface RepliesDeps {
  screen: Screen;
  paint: Paint;
  nameOf: (message: MessageData) => string;
  /** True prints text while it is streamed. Otherwise each reply is printed when it ends. */
  streams: () => boolean;
}

export function createReplies({ screen, paint, nameOf, streams }: RepliesDeps): Replies {
  /** Unfinished replies, in the order of their creation. The first one with a text is printed. */
  const open = new Map<string, OpenReply>();
  const finished = new Set<string>();
  let current: OpenReply | undefined;

  /** An earlier chat has printed the beginning of it. */
  let continued: OpenReply | undefined;

  function show(reply: Reply, whole: string, restart: string): void {
    const { generation } = reply.streamed;
    const text = printable(whole);
    const { printed } = reply;
    if (printed !== undefined && (printed.generation !== generation || !text.startsWith(printed.text))) {
      screen.line(restart);
      delete reply.printed;
    }
    const before = reply.printed?.text ?? '';
    if (text === before) return;
    const isContinued = reply === continued;
    const heading = reply.printed === undefined || isContinued ? `${paint('bold', oneLine(reply.agent))}: ` : '';
    if (isContinued) continued = undefined;
    screen.stream(`${heading}${isContinued && before !== '' ? '… ' : ''}${text.slice(before.length)}`);
    reply.printed = { generation, text };
  }

  function finish(reply: Reply): void {
    const { status, error } = reply;
    const ended = reply.text ?? textOf(reply.streamed);
    const text = ended === emptyReplyText(reply.agent, status) ? '' : ended;
    show(reply, text, '· final text:');
    screen.endLine();
    if (status === 'failed' || status === 'incomplete') screen.line(failureLine(status, error, text), 'red');
    if (status === 'delegated') screen.line(`· ${reply.agent} hands over`);
    if (status === 'silent' && !reply.hasShown) screen.line(`· ${reply.agent} stays silent`);
    open.delete(reply.id);
    finished.add(reply.id);
    if (current === reply) current = undefined;
  }

  /** Prints everything that can be printed: the current reply, and replies that have ended meanwhile. */
  function print(): void {
    for (const reply of open.values()) {
      if (current !== undefined && current !== reply) continue;
      if (reply.ended) finish(reply);
      else if (streams()) {
        show(reply, textOf(reply.streamed), '· the answer restarts');
        if (reply.printed !== undefined) current = reply;
      }
    }
  }

  return {
    update(message) {
      if (finished.has(message.id)) return;
      const known = open.get(message.id);
      const reply = known ?? newReply(message.id, nameOf(message), message.agent?.id);
      open.set(
        message.id,
        Object.assign(reply, {
          status: message.extended_status,
          error: message.error,
          text: contentText(message.content),
        }),
      );
    },
    chunk(chunk) {
      const reply = open.get(chunk.message_id);
      if (reply === undefined) return;
      reply.streamed = addChunk(reply.streamed, chunk);
      print();
    },
    end(messageId, status) {
      const reply = open.get(messageId);
      if (reply === undefined) return;
      // The message has the exact status, unless its last event was lost.
      if (reply.status === 'pending') reply.status = status;
      reply.ended = true;
      print();
    },
    remove(messageId) {
      const reply = open.get(messageId);
      if (reply === undefined) return;
      if (reply.printed !== undefined) screen.line('· the answer was deleted');
      open.delete(messageId);
      if (current === reply) current = undefined;
      print();
    },
    printed(ids) {
      const { id, agent, agentId, printed } = current ?? {};
      return {
        finished: [...finished].filter((each) => ids.has(each)),
        current:
          id === undefined || printed === undefined ? undefined : { id, agent: agent ?? '', agentId, ...printed },
      };
    },
    resume(printed) {
      for (const id of printed.finished) finished.add(id);
      if (printed.current === undefined) return;
      const { id, agent, agentId, generation, text } = printed.current;
      continued = {
        ...newReply(id, agent, agentId),
        streamed: printedBefore(generation, text),
        printed: { generation, text },
      };
      open.set(id, continued);
      current = continued;
    },
    get isStreaming() {
      return current !== undefined;
    },
    shown(agentId) {
      for (const reply of open.values()) if (reply.agentId === agentId) reply.hasShown = true;
    },
  };
}

const newReply = (id: string, agent: string, agentId: string | undefined): OpenReply => ({
  id,
  agentId,
  agent,
  streamed: NOTHING_STREAMED,
  ended: false,
  hasShown: false,
  text: undefined,
  status: 'pending',
  error: null,
});
