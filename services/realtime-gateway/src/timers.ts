/** Delayed work, as an argument: tests pass their own. */
export interface Timers {
  /** Runs `task` once after `ms`. @returns cancels it. */
  after(ms: number, task: () => void): () => void;
}

/** The longest delay of `setTimeout`; a longer one would fire immediately. */
const LONGEST_MS = 2 ** 31 - 1;

function after(ms: number, task: () => void): () => void {
  let timer: NodeJS.Timeout;
  const wait = (remaining: number): void => {
    const step = Math.min(remaining, LONGEST_MS);
    timer = setTimeout(() => (remaining > step ? wait(remaining - step) : task()), step).unref();
  };
  wait(Math.max(0, ms));
  return () => clearTimeout(timer);
}

/** Timers that take waits of any length and keep no process alive. */
export const systemTimers: Timers = { after };
