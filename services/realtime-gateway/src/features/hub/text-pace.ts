import type { Timers } from '../../timers.js';

export interface TextPaceDeps {
  timers: Timers;
  /** Monotonic milliseconds. */
  now: () => number;
  /** Sends the text so far. */
  flush(): void;
}

/** Milliseconds between two chunks at the beginning of a text, and later. */
const FIRST_MS = 50;
const LATER_MS = 250;
/** Milliseconds of text until chunks become less frequent. */
const BEGINNING_MS = 2_000;
/** Milliseconds without text after which the next one begins. */
const PAUSE_MS = 1_000;

export interface TextPace {
  textChanged(): void;
  stop(): void;
}

/** Sends the first text immediately, and collects the text that follows within a short time. */
export function createTextPace({ timers, now, flush }: TextPaceDeps): TextPace {
  let beganAt = -Infinity;
  let changedAt = -Infinity;
  let flushedAt = -Infinity;
  let cancel: (() => void) | undefined;

  function flushNow(): void {
    cancel = undefined;
    flushedAt = now();
    flush();
  }

  return {
    textChanged() {
      const time = now();
      if (time - changedAt > PAUSE_MS) beganAt = time;
      changedAt = time;
      if (cancel !== undefined) return;
      const wait = flushedAt + (time - beganAt < BEGINNING_MS ? FIRST_MS : LATER_MS) - time;
      if (wait <= 0) flushNow();
      else cancel = timers.after(wait, flushNow);
    },
    stop: () => cancel?.(),
  };
}
