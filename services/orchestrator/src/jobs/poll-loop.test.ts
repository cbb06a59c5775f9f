import { describe, expect, it } from '@jest/globals';
import { createPollLoop } from './poll-loop.js';

const NEVER_MS = 3_600_000;
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

describe('a wakeable loop', () => {
  it('goes on at once while there is more, then waits to be woken', async () => {
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
    loop.wake();
    while (rounds < 4) await turn();
    await loop.close();
    expect(rounds).toBe(4);
  });

  it('follows a round with another where it was woken meanwhile', async () => {
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
    loop.wake();
    first.resolve(false);
    while (rounds < 2) await turn();
    await loop.close();
    expect(rounds).toBe(2);
  });

  it('tells of a round that failed, and ends while it waits to try again', async () => {
    const errors: unknown[] = [];
    const loop = createPollLoop({
      round: () => Promise.reject(new Error('away')),
      pollMs: NEVER_MS,
      onError: (error) => errors.push(error),
    });
    while (errors.length === 0) await turn();
    await loop.close();
    expect(errors).toEqual([new Error('away')]);
  });

  it('waits for the round that runs when it is closed', async () => {
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
