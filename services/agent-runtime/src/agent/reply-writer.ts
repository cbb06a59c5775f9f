import { AgentActivity } from '@uswarm/runtime-proto';
import { activityEvent, chunkEvent, type TurnEventBody } from '../turns/turn-events.js';

/** Runs `task` after `delayMs` milliseconds unless cancelled. */
export type Schedule = (task: () => void, delayMs: number) => () => void;

const byTimer: Schedule = (task, delayMs) => {
  const timer = setTimeout(task, delayMs);
  return () => clearTimeout(timer);
};

export interface ReplyWriterDeps {
  emit(event: TurnEventBody): void;
  /** Milliseconds for which text is buffered before it becomes a chunk. */
  coalesceMs: number;
  schedule?: Schedule;
}

/** Emits the events of a turn in order: buffered text is emitted before any other event. */
export interface ReplyWriter {
  readonly text: string;
  /** Emitted only if it differs from the previous activity. */
  activity(activity: AgentActivity): void;
  write(piece: string): void;
  /** The text that follows begins a new paragraph. */
  breakParagraph(): void;
  event(event: TurnEventBody): void;
  flush(): void;
}

export function createReplyWriter({ emit, coalesceMs, schedule = byTimer }: ReplyWriterDeps): ReplyWriter {
  let text = '';
  let waiting = '';
  let cancel: (() => void) | undefined;
  let current: AgentActivity | undefined;
  let paragraphDue = false;

  function flush(): void {
    cancel?.();
    cancel = undefined;
    if (waiting === '') return;
    const piece = waiting;
    waiting = '';
    emit(chunkEvent(piece));
  }

  function event(body: TurnEventBody): void {
    flush();
    emit(body);
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
    cancel ??= schedule(flush, coalesceMs);
  }

  return {
    get text() {
      return text;
    },
    activity,
    write,
    breakParagraph: () => void (paragraphDue = true),
    event,
    flush,
  };
}
