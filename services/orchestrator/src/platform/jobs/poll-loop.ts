import { setTimeout as sleep } from 'node:timers/promises';

export interface PollLoopOptions {
  /** @returns true to run the next round immediately */
  round: () => Promise<boolean>;
  /** Milliseconds between two rounds without a call to `runNow`. Default: the loop waits for the call. */
  pollMs?: number;
  /** Milliseconds before a round that the previous round asked for. Default: 0 */
  pauseMs?: number;
  /** After a round that failed, the loop waits for `RETRY_MS`, and without `pollMs` repeats the round. */
  onError: (error: unknown) => void;
}

export interface PollLoop {
  /** Starts a round immediately; a running round is followed by another one. */
  runNow(): void;
  /** Starts no further round; resolves when the running one has ended. */
  close(): Promise<void>;
}

const RETRY_MS = 1_000;

export function createPollLoop({ round, pollMs, pauseMs = 0, onError }: PollLoopOptions): PollLoop {
  const stopping = new AbortController();
  let isDue = false;
  let endIdle = (): void => undefined;

  async function idle(): Promise<void> {
    if (isDue || stopping.signal.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = pollMs === undefined ? undefined : setTimeout(resolve, pollMs);
      endIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  const pause = (ms: number): Promise<void> => sleep(ms, undefined, { signal: stopping.signal }).catch(() => undefined);

  async function loop(): Promise<void> {
    while (!stopping.signal.aborted) {
      isDue = false;
      try {
        if (await round()) {
          isDue = true;
          if (pauseMs > 0) await pause(pauseMs);
        }
      } catch (error) {
        if (stopping.signal.aborted) return;
        onError(error);
        isDue ||= pollMs === undefined;
        await pause(RETRY_MS);
      }
      await idle();
    }
  }

  const looping = loop();
  return {
    runNow() {
      isDue = true;
      endIdle();
    },
    async close() {
      stopping.abort();
      endIdle();
      await looping;
    },
  };
}
