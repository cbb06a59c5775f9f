/** Timers, injected so that tests can control the time. */
export interface Timers {
  /** Runs `task` once after `ms`. @returns cancels the task */
  after(ms: number, task: () => void): () => void;
}

/** The maximum delay of `setTimeout`; a longer one would fire immediately. */
const MAX_DELAY_MS = 2 ** 31 - 1;

function after(ms: number, task: () => void): () => void {
  if (ms > MAX_DELAY_MS) return afterSteps(ms, task);
  const timer = setTimeout(task, Math.max(0, ms)).unref();
  return () => clearTimeout(timer);
}

function afterSteps(ms: number, task: () => void): () => void {
  let timer: NodeJS.Timeout;
  const wait = (remaining: number): void => {
    const step = Math.min(remaining, MAX_DELAY_MS);
    timer = setTimeout(() => (remaining > step ? wait(remaining - step) : task()), step).unref();
  };
  wait(ms);
  return () => clearTimeout(timer);
}

/** Timers that support delays of any length and do not keep the process alive. */
export const systemTimers: Timers = { after };
