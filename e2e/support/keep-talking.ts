import type { TestClient } from '@uswarm/testkit/test-client';
import { keepBusy } from './test-users.js';

/** Interval of messages in milliseconds, shorter than the idle timeout. */
const EVERY_MS = 8_000;

/**
 * Sends messages to a user's runtime, so that it is not suspended. @returns ends it and returns how the answers ended
 */
export function keepTalking(talker: TestClient): { stop(): Promise<unknown[]> } {
  const outcomes: unknown[] = [];
  const talk = keepBusy(async () => {
    const { done } = await talker.ask('Please repeat: still here').catch((error: unknown) => ({ done: error }));
    outcomes.push((done as { payload?: { status: string } }).payload?.status ?? done);
  }, EVERY_MS);
  return {
    async stop() {
      talk.stop();
      await talk.ended;
      return outcomes;
    },
  };
}
