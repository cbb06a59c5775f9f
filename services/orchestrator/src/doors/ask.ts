import { createHash, randomUUID } from 'node:crypto';
import { ApiError, type MessageData, requireScope } from '@uswarm/contract';
import type { EventBus } from '@uswarm/event-bus';
import type { UserActor } from '../accounts/auth/actor.js';
import type { ConversationService } from '../chat/conversations.service.js';
import type { MessageService } from '../chat/messages.service.js';
import type { EventService } from '../events/events.service.js';
import { isId } from '../platform/database/id.js';
import type { ReadPosition } from '../platform/http/routes.js';
import type { AgentService } from '../workspaces/agents/agents.service.js';
import { type AnswerText, createAnswerText } from './answer-text.js';
import type { TokenCounts } from './answer-usage.store.js';
import type { ReachedWorkspace } from './reached-workspace.js';

export interface AskDeps {
  bus: Pick<EventBus, 'subscribe'>;
  reachedWorkspace: ReachedWorkspace;
  agents: Pick<AgentService, 'list'>;
  conversations: Pick<ConversationService, 'create' | 'get'>;
  messages: Pick<MessageService, 'get' | 'send'>;
  events: Pick<EventService, 'after'>;
  readPosition: ReadPosition;
  usageOf: (questionId: string) => Promise<TokenCounts>;
}

/** Where a question continues: in our conversation, after an earlier question, or in the program's chat. */
export type Continues = { conversationId: string } | { questionId: string } | { chat: string } | undefined;

export interface Question {
  /** Default: the user's first workspace that the token reaches. */
  workspaceId: string | undefined;
  /** `swarm`, or an agent's slug. */
  agent: string;
  continues: Continues;
  text: string;
}

export interface Asked {
  conversationId: string;
  questionId: string;
}

export interface Answer extends Asked {
  text: string;
  usage: TokenCounts;
}

export interface Following {
  signal: AbortSignal;
  onAsked?: (asked: Asked) => void;
  /** Receives the next part of the text. */
  onText?: (part: string) => void;
}

/**
 * Sends a question as apps send messages, and follows the workspace's log until it is answered. The answer continues if
 * the program leaves. @throws ApiError also if the answer fails
 */
export type Ask = (actor: UserActor, question: Question, following: Following) => Promise<Answer>;

/** Unanswered questions per user and process: each one reads the log. */
const MAX_OPEN = 50;
const BUSY_RETRY_MS = 1_000;

/** Milliseconds after which the log is read without a signal, because the bus may lose some. */
const READ_MS = 2_000;

export function createAsk(deps: AskDeps): Ask {
  async function create(userId: string, workspaceId: string, agent: string, id?: string): Promise<string> {
    const owner = { userId, key: undefined };
    if (agent === 'swarm') return (await deps.conversations.create(owner, workspaceId, { type: 'swarm' }, id)).id;
    const found = (await deps.agents.list(userId, workspaceId)).find(({ slug }) => slug === agent);
    if (found === undefined) throw new ApiError('agent_not_found');
    return (await deps.conversations.create(owner, workspaceId, { type: 'agent', agent_id: found.id }, id)).id;
  }

  async function exists(userId: string, workspaceId: string, id: string): Promise<boolean> {
    try {
      await deps.conversations.get(userId, workspaceId, id);
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.code === 'conversation_not_found') return false;
      throw error;
    }
  }

  async function conversationOf(userId: string, workspaceId: string, { continues, agent }: Question): Promise<string> {
    if (continues === undefined) return create(userId, workspaceId, agent);
    if ('questionId' in continues) {
      const { questionId: id } = continues;
      if (!isId(id)) throw new ApiError('message_not_found');
      return (await deps.messages.get(userId, workspaceId, id)).conversation_id;
    }
    if ('conversationId' in continues) {
      const { conversationId: id } = continues;
      if (!isId(id) || !(await exists(userId, workspaceId, id))) throw new ApiError('conversation_not_found');
      return id;
    }
    // Also the id that an earlier answer had.
    if (isId(continues.chat) && (await exists(userId, workspaceId, continues.chat))) return continues.chat;
    const id = conversationOfChat(workspaceId, continues.chat);
    return (await exists(userId, workspaceId, id)) ? id : create(userId, workspaceId, agent, id);
  }

  async function follow({ userId, workspaceId, asked, text, waiting, signal, from }: Followed): Promise<void> {
    let position = from;
    for (;;) {
      signal.throwIfAborted();
      const signalled = waiting.wait();
      const { events, hasNext } = await deps.events.after(userId, workspaceId, position);
      for (const { seq, payload } of events) {
        position = String(seq);
        const { message, answer_ended: ended, in_reply_to: replied } = payload as LoggedPayload;
        if (message !== undefined) text.message(message);
        if ((replied ?? message?.in_reply_to) !== asked.questionId) continue;
        if (ended === true || text.waits()) return;
      }
      if (!hasNext) await signalled;
    }
  }

  const open = new Map<string, number>();
  function enter(userId: string): () => void {
    const count = open.get(userId) ?? 0;
    if (count >= MAX_OPEN)
      throw new ApiError('rate_limited', { extra: { limit: 'user', retry_after_ms: BUSY_RETRY_MS } });
    open.set(userId, count + 1);
    return () => {
      const left = (open.get(userId) ?? 1) - 1;
      if (left === 0) open.delete(userId);
      else open.set(userId, left);
    };
  }

  async function answerOf(actor: UserActor, question: Question, following: Following): Promise<Answer> {
    const { signal, onAsked, onText = () => undefined } = following;
    const { userId } = actor;
    const workspaceId = await deps.reachedWorkspace(actor, question.workspaceId);
    const conversationId = await conversationOf(userId, workspaceId, question);
    const text = createAnswerText(onText);
    const waiting = createWaiting(signal);
    const unsubscribe = await deps.bus.subscribe(workspaceId, (envelope) => {
      if (envelope.kind !== 'ephemeral') waiting.wake();
      else if (envelope.event === 'message.chunk') text.chunk(envelope.payload as never);
    });
    try {
      const from = await deps.readPosition('workspace', workspaceId);
      if (from === undefined) throw new ApiError('workspace_not_found');
      const target = { userId, workspaceId, conversationId, localId: randomUUID() };
      const draft = { content: { type: 'text' as const, text: question.text }, mentions: [], attachments: [] };
      const { id: questionId } = await deps.messages.send(target, draft);
      const asked = { conversationId, questionId };
      onAsked?.(asked);
      text.answers(questionId);
      await follow({ userId, workspaceId, asked, text, waiting, signal, from });
      const { failure, ...finished } = text.finish();
      if (failure !== null) throw failure;
      return { ...asked, ...finished, usage: await deps.usageOf(questionId) };
    } finally {
      unsubscribe();
      waiting.end();
    }
  }

  return async (actor, question, following) => {
    requireScope(actor.access, 'write');
    const leave = enter(actor.userId);
    try {
      return await answerOf(actor, question, following);
    } finally {
      leave();
    }
  };
}

interface Followed {
  userId: string;
  workspaceId: string;
  asked: Asked;
  text: AnswerText;
  waiting: ReturnType<typeof createWaiting>;
  signal: AbortSignal;
  /** Position before the question. */
  from: string;
}

interface LoggedPayload {
  message?: MessageData;
  answer_ended?: boolean;
  in_reply_to?: string;
}

/** `wait` resolves with the next `wake`, when the signal is aborted, or after some time. It never rejects, as it may not be awaited. */
function createWaiting(signal: AbortSignal): { wake: () => void; wait: () => Promise<void>; end: () => void } {
  let wake = (): void => undefined;
  const wakeNow = (): void => wake();
  signal.addEventListener('abort', wakeNow);
  return {
    wake: wakeNow,
    wait: () =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, READ_MS);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      }),
    end() {
      signal.removeEventListener('abort', wakeNow);
      wake();
    },
  };
}

/** The same for the same chat, so that no table has to remember it. A UUID of version 8 (RFC 9562). */
function conversationOfChat(workspaceId: string, chat: string): string {
  const hex = createHash('sha256').update(`${workspaceId}\n${chat}`).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}
