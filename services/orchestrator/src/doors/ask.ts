import { ApiError, type MessageData, requireScope } from '@uswarm/contract';
import type { EventBus } from '@uswarm/event-bus';
import type { UserActor } from '../accounts/auth/actor.js';
import { type AnswerListener, createAnswerText } from './answer-text.js';
import type { TokenCounts } from './answer-usage.store.js';
import type { Place } from './conversation-of.js';
import { createWaiting, type FollowAnswer, type FollowAnswerDeps } from './follow-answer.js';
import type { Asked, QuestionOf, Says } from './question-of.js';
import type { ReachedWorkspace } from './reached-workspace.js';

export interface AskDeps {
  bus: Pick<EventBus, 'subscribe'>;
  reachedWorkspace: ReachedWorkspace;
  questionOf: QuestionOf;
  followAnswer: FollowAnswer;
  readPosition: FollowAnswerDeps['readPosition'];
  usageOf: (questionId: string) => Promise<TokenCounts>;
}

export interface Question extends Omit<Place, 'workspaceId'> {
  /** Default: the user's first workspace that the token reaches. */
  workspaceId: string | undefined;
  says: Says;
}

export type TextQuestion = Question & { says: { text: string } };

export interface Answer extends Asked {
  text: string;
  /** They wait for the user's decisions. */
  cards: MessageData[];
  usage: TokenCounts;
}

export interface Following extends AnswerListener {
  signal: AbortSignal;
  onAsked?: (asked: Asked) => void;
}

/**
 * Sends a question as apps send messages, and follows the workspace's log until it is answered. The answer continues if
 * the program leaves. @throws ApiError also if the answer fails
 */
export type Ask = (actor: UserActor, question: Question, following: Following) => Promise<Answer>;

/** Unanswered questions per user and process: each one reads the log. */
const MAX_OPEN = 50;
const BUSY_RETRY_MS = 1_000;

export function createAsk(deps: AskDeps): Ask {
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
    const { signal, onAsked } = following;
    const { userId } = actor;
    const workspaceId = await deps.reachedWorkspace(actor, question.workspaceId);
    const text = createAnswerText(following);
    const waiting = createWaiting(signal);
    const unsubscribe = await deps.bus.subscribe(workspaceId, (envelope) => {
      if (envelope.kind !== 'ephemeral') waiting.wake();
      else if (envelope.event === 'message.chunk') text.chunk(envelope.payload as never);
    });
    try {
      const from = await deps.readPosition('workspace', workspaceId);
      if (from === undefined) throw new ApiError('workspace_not_found');
      const { isKnown, ...asked } = await deps.questionOf(userId, { ...question, workspaceId }, question.says);
      onAsked?.(asked);
      text.answers(asked.questionId);
      const withTasks = following.onPart !== undefined;
      await deps.followAnswer({ userId, workspaceId, asked, text, waiting, signal, from, isKnown, withTasks });
      const { failure, ...finished } = text.finish();
      if (failure !== null) throw failure;
      return { ...asked, ...finished, usage: await deps.usageOf(asked.questionId) };
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
