import { getEventListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { unlessAborted } from './unless-aborted.js';

const forever = new Promise<never>(() => undefined);
const stopped = new Error('stopped');

describe('unlessAborted', () => {
  it('settles as the work does, and leaves no listener on the signal', async () => {
    const { signal } = new AbortController();
    expect(await unlessAborted(Promise.resolve(1), signal)).toBe(1);
    await expect(unlessAborted(Promise.reject(new Error('failed')), signal)).rejects.toThrow('failed');
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('rejects with the reason when the signal aborts, also one that was aborted before', async () => {
    const aborting = new AbortController();
    const waiting = unlessAborted(forever, aborting.signal);
    aborting.abort(stopped);
    await expect(waiting).rejects.toBe(stopped);
    await expect(unlessAborted(Promise.resolve(1), aborting.signal)).rejects.toBe(stopped);
  });

  it('leaves no unhandled rejection when the work fails after the abort', async () => {
    const work = Promise.withResolvers<never>();
    await expect(unlessAborted(work.promise, AbortSignal.abort(stopped))).rejects.toBe(stopped);
    work.reject(new Error('too late'));
    await sleep(0);
  });
});
