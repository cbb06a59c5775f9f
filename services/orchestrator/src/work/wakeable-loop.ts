import { setTimeout as sleep } from 'node:timers/promises';

export interface WakeableLoopOptions {
  /** One round. @returns whether there may be more to do right away. */
  round: () => Promise<boolean>;
  /** Milliseconds between two rounds that nobody asked for. */
  pollMs: number;
  /** After a round that failed, the loop waits for `RETRY_MS`. */
  onError: (error: unknown) => void;
}

export interface WakeableLoop {
  /** Has a round begin now; one that runs is followed by another. */
  wake(): void;
  /** No further round begins; resolves once the running one has ended. */
  close(): Promise<void>;
}

const RETRY_MS = 1_000;

/** Rounds of work: at once where somebody says that there is some, else now and then. */
export function createWakeableLoop({ round, pollMs, onError }: WakeableLoopOptions): WakeableLoop {
  const stopping = new AbortController();
  let woken = false;
  let wakeUp = (): void => undefined;

  async function idle(): Promise<void> {
    if (woken || stopping.signal.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pollMs);
      wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async function loop(): Promise<void> {
    while (!stopping.signal.aborted) {
      woken = false;
      try {
        if (await round()) woken = true;
      } catch (error) {
        if (stopping.signal.aborted) return;
        onError(error);
        await sleep(RETRY_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
      }
      await idle();
    }
  }

  const looping = loop();
  return {
    wake() {
      woken = true;
      wakeUp();
    },
    async close() {
      stopping.abort();
      wakeUp();
      await looping;
    },
  };
}
