import { describe, expect, it } from '@jest/globals';
import { createPollLoop } from './poll-loop.js';

const NEVER_MS = 3_600_000;
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

describe('createPollLoop', () => {
  it('starts rounds immediately while more is due, then waits until it is asked', async () => {
    let left = 3;
    let rounds = 0;
    const loop = createPollLoop({
      round: async () => {
        rounds += 1;
        left -= 1;
        return left > 0;
      },
      pollMs: NEVER_MS,
      onError: () => undefined,
    });
    while (left > 0) await turn();
    await turn();
    expect(rounds).toBe(3);
    loop.runNow();
    while (rounds < 4) await turn();
    await loop.close();
    expect(rounds).toBe(4);
  });

  it('pauses before another round, also if it is asked meanwhile, and closes during the pause', async () => {
    let rounds = 0;
    const loop = createPollLoop({
      round: async () => {
        rounds += 1;
        return true;
      },
      pollMs: NEVER_MS,
      pauseMs: NEVER_MS,
      onError: () => undefined,
    });
    await turn();
    loop.runNow();
    await turn();
    await loop.close();
    expect(rounds).toBe(1);
  });

  it('runs another round if it was asked during a round', async () => {
    const first = Promise.withResolvers<boolean>();
    let rounds = 0;
    const loop = createPollLoop({
      round: () => {
        rounds += 1;
        return rounds === 1 ? first.promise : Promise.resolve(false);
      },
      pollMs: NEVER_MS,
      onError: () => undefined,
    });
    loop.runNow();
    first.resolve(false);
    while (rounds < 2) await turn();
    await loop.close();
    expect(rounds).toBe(2);
  });

  it('reports a failed round, and closes while it waits for the retry', async () => {
    const errors: unknown[] = [];
    const loop = createPollLoop({
      round: () => Promise.reject(new Error('unavailable')),
      pollMs: NEVER_MS,
      onError: (error) => errors.push(error),
    });
    while (errors.length === 0) await turn();
    await loop.close();
    expect(errors).toEqual([new Error('unavailable')]);
  });

  it('close awaits the running round', async () => {
    const round = Promise.withResolvers<boolean>();
    let ended = false;
    const loop = createPollLoop({ round: () => round.promise, pollMs: NEVER_MS, onError: () => undefined });
    const closed = loop.close().then(() => (ended = true));
    await turn();
    expect(ended).toBe(false);
    round.resolve(true);
    await closed;
  });
});
