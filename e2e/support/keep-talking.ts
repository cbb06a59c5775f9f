import { setTimeout as sleep } from 'node:timers/promises';
import type { TestClient } from '@uswarm/testkit/test-client';

/** Interval of messages in milliseconds, shorter than the idle timeout. */
const EVERY_MS = 8_000;

/** Sends messages to the runtime of a user, so that it is not suspended. @returns ends it and returns how the answers ended */
export function keepTalking(talker: TestClient): { stop(): Promise<unknown[]> } {
  const stopping = new AbortController();
  const outcomes: unknown[] = [];
  const talking = (async () => {
    while (!stopping.signal.aborted) {
      const { done } = await talker.ask('Please repeat: still here').catch((error: unknown) => ({ done: error }));
      outcomes.push((done as { payload?: { status: string } }).payload?.status ?? done);
      await sleep(EVERY_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await talking;
      return outcomes;
    },
  };
}
