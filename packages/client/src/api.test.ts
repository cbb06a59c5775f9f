import { getEventListeners } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { delay } from './api.js';

describe('a wait', () => {
  it('leaves no listener at its signal when it is over', async () => {
    const { signal } = new AbortController();
    await delay(1, signal);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('ends early with its signal', async () => {
    const ending = new AbortController();
    const wait = delay(60_000, ending.signal);
    ending.abort();
    await expect(wait).resolves.toBeUndefined();
  });
});
