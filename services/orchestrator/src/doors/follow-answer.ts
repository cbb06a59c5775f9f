import type { MessageData, MessageListQuery } from '@uswarm/contract';
import type { MessageService } from '../chat/messages.service.js';
import type { EventService } from '../events/events.service.js';
import type { SubscriptionService } from '../events/subscriptions.service.js';
import type { Database } from '../platform/database/database.js';
import type { ReadPosition } from '../platform/http/routes.js';
import type { AnswerText } from './answer-text.js';
import type { Asked } from './question-of.js';

export interface FollowAnswerDeps {
  messages: Pick<MessageService, 'list'>;
  events: Pick<EventService, 'after'>;
  subscriptions: Pick<SubscriptionService, 'subscriptions'>;
  readPosition: ReadPosition;
  isAnswered: (questionId: string) => Promise<boolean>;
  findTask: (turnId: string) => Promise<string | undefined>;
  database: Database;
}

export interface Followed {
  userId: string;
  workspaceId: string;
  asked: Asked;
  text: AnswerText;
  waiting: Waiting;
  signal: AbortSignal;
  /** Position before the question, or, if it is known, before its answer is read. */
  from: string;
  isKnown: boolean;
  /** Finds the task of each message. */
  withTasks: boolean;
}

/** With the task of each turn. */
type Reading = Followed & { tasks: Map<string, string | undefined> };

/** Reads the log until a question is answered, or its answer waits for the user. */
export type FollowAnswer = (followed: Followed) => Promise<void>;

/** Milliseconds after which the log is read without a signal, because the bus may lose some. */
const READ_MS = 2_000;

/** Milliseconds in which a text that has begun before is read again, because a turn saves it after it was read. */
const BEGUN_MS = 3 * READ_MS;

const PAGE: MessageListQuery = { direction: 'forward', limit: 100 };

export function createFollowAnswer(deps: FollowAnswerDeps): FollowAnswer {
  async function add({ text, withTasks, tasks }: Reading, message: MessageData): Promise<void> {
    const { turn_id: turnId } = message;
    if (!withTasks || turnId === undefined) return text.message(message);
    if (!tasks.has(turnId)) tasks.set(turnId, await deps.findTask(turnId));
    text.message(message, tasks.get(turnId));
  }

  /** Reads the answer so far. @returns true if nothing follows */
  async function readWritten(reading: Reading): Promise<boolean> {
    const { userId, workspaceId, asked, text } = reading;
    const isEnded = await deps.isAnswered(asked.questionId);
    const requested = { userId, workspaceId, conversationId: asked.conversationId };
    const source = {
      database: deps.database,
      readPosition: (db?: Database) => deps.readPosition('workspace', workspaceId, db),
    };
    let query: MessageListQuery = { ...PAGE, after: asked.questionId };
    for (;;) {
      const { data, pagination } = (await deps.messages.list(requested, query, source)).page;
      for (const message of data) await add(reading, message);
      const { next_scroll_id: next } = pagination;
      // The messages of an answer are close to each other.
      if (next === null || !data.some(({ in_reply_to: id }) => id === asked.questionId)) break;
      query = { ...PAGE, scrollId: next };
    }
    return isEnded || text.waits();
  }

  /** Texts that are being written: chunks contain only what comes later. */
  async function readStreams({ userId, workspaceId, text }: Followed): Promise<void> {
    const { accepted } = await deps.subscriptions.subscriptions(userId, [workspaceId]);
    for (const { streams = [] } of accepted) for (const stream of streams) text.stream(stream);
  }

  return async (followed) => {
    const { userId, workspaceId, text, waiting, signal, isKnown } = followed;
    const reading = { ...followed, tasks: new Map<string, string | undefined>() };
    let { questionId } = followed.asked;
    if (isKnown && (await readWritten(reading))) return;
    if (isKnown) await readStreams(followed);
    const begunUntil = isKnown ? performance.now() + BEGUN_MS : 0;
    let position = followed.from;
    let isEnded = false;
    for (;;) {
      signal.throwIfAborted();
      const wasEnded = isEnded || text.waits();
      const signalled = waiting.wait();
      const { events, hasNext } = await deps.events.after(userId, workspaceId, position);
      for (const { seq, payload } of events) {
        position = String(seq);
        const { message, answer_ended: ended, in_reply_to: replied } = payload as LoggedPayload;
        if (message !== undefined) await add(reading, message);
        if (message?.id === questionId && message.answered_with !== undefined) {
          questionId = message.answered_with;
          text.answers(questionId);
        }
        if (ended === true && (replied ?? message?.in_reply_to) === questionId) isEnded = true;
      }
      if (hasNext) continue;
      if (wasEnded) return;
      // An event has the present state: it can tell the end before other messages are read.
      if (isEnded || text.waits()) continue;
      await signalled;
      if (text.lacksParts() || performance.now() < begunUntil) await readStreams(followed);
    }
  };
}

interface LoggedPayload {
  message?: MessageData;
  answer_ended?: boolean;
  in_reply_to?: string;
}

export interface Waiting {
  wake: () => void;
  /** Resolves with the next `wake`, when the signal is aborted, or after some time. It never rejects, as it may not be awaited. */
  wait: () => Promise<void>;
  end: () => void;
}

export function createWaiting(signal: AbortSignal): Waiting {
  let wake = (): void => undefined;
  const wakeNow = (): void => wake();
  signal.addEventListener('abort', wakeNow);
  return {
    wake: wakeNow,
    wait() {
      // The timer before, if it was not awaited.
      wake();
      return new Promise((resolve) => {
        const timer = setTimeout(resolve, READ_MS);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
    end() {
      signal.removeEventListener('abort', wakeNow);
      wake();
    },
  };
}
