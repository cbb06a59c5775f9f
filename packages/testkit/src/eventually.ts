import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 25;

/** Asks again until the answer is the one wanted; the last answer when `deadlineMs` pass before. */
export async function eventually<T>(
  read: () => Promise<T> | T,
  wanted: (answer: T) => boolean,
  deadlineMs = 120_000,
): Promise<T> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const answer = await read();
    if (wanted(answer) || performance.now() > deadline) return answer;
    await sleep(POLL_MS);
  }
}
