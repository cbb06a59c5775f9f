import { AgentActivity } from '@uswarm/runtime-proto';
import { chunkPauseMs } from '@uswarm/service-kit';
import { activityEvent, chunkEvent, type TurnEventBody } from '../turns/turn-events.js';

/** Runs `task` after `delayMs` milliseconds unless cancelled. */
export type Schedule = (task: () => void, delayMs: number) => () => void;

const byTimer: Schedule = (task, delayMs) => {
  const timer = setTimeout(task, delayMs);
  return () => clearTimeout(timer);
};

export interface ReplyWriterDeps {
  emit(event: TurnEventBody, barrier?: boolean): void;
  /** Monotonic clock in milliseconds. */
  now: () => number;
  schedule?: Schedule;
}

/** A position in the text, to which a failed model call can take it back. */
export interface ReplyMark {
  /** In UTF-16 code units. */
  length: number;
  paragraphDue: boolean;
}

/** Emits turn events in order: buffered text is emitted before any other event. */
export interface ReplyWriter {
  readonly text: string;
  /** Emitted only if it differs from the previous activity. */
  activity(activity: AgentActivity): void;
  write(piece: string): void;
  /** The text that follows begins a new paragraph. */
  breakParagraph(): void;
  /** Tail of the text so far. */
  mark(): ReplyMark;
  /** Removes the text after `mark`. */
  retract(mark: ReplyMark): void;
  /** `barrier`: the turn continues when the orchestrator has committed the event. */
  event(event: TurnEventBody, barrier?: boolean): void;
  /** Begins with the text from an earlier run of the turn. */
  restore(reply: string): void;
  /** Emits the buffered text after the last event. */
  end(): void;
}

export function createReplyWriter({ emit, now, schedule = byTimer }: ReplyWriterDeps): ReplyWriter {
  let text = '';
  let waiting = '';
  let cancel: (() => void) | undefined;
  let current: AgentActivity | undefined;
  let paragraphDue = false;
  let startedAt: number | undefined;

  function flush(): void {
    if (waiting === '') return;
    const piece = waiting;
    waiting = '';
    emit(chunkEvent(piece, text.length - piece.length));
  }

  /** Emits the first text immediately, so that buffering does not delay a reply. */
  function pace(): void {
    if (cancel !== undefined || waiting === '') return;
    flush();
    startedAt ??= now();
    cancel = schedule(
      () => {
        cancel = undefined;
        pace();
      },
      chunkPauseMs(now() - startedAt),
    );
  }

  function end(): void {
    flush();
    cancel?.();
    cancel = undefined;
  }

  function event(body: TurnEventBody, barrier = false): void {
    flush();
    emit(body, barrier);
  }

  function restore(reply: string): void {
    text = reply;
    if (text !== '') emit(chunkEvent(text, 0));
  }

  function retract({ length, paragraphDue: wasDue }: ReplyMark): void {
    if (length >= text.length) return;
    flush();
    text = text.slice(0, length);
    paragraphDue = wasDue;
    emit(chunkEvent('', length));
  }

  function activity(next: AgentActivity): void {
    if (next === current) return;
    current = next;
    event(activityEvent(next));
  }

  function write(piece: string): void {
    if (piece === '') return;
    activity(AgentActivity.WRITING);
    const added = paragraphDue && text !== '' && !/\s$/.test(text) ? `\n\n${piece}` : piece;
    paragraphDue = false;
    text += added;
    waiting += added;
    pace();
  }

  return {
    get text() {
      return text;
    },
    activity,
    write,
    mark: () => ({ length: text.length, paragraphDue }),
    retract,
    breakParagraph: () => void (paragraphDue = true),
    event,
    restore,
    end,
  };
}
