import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { createSendDeadline, runBefore } from './send-deadline.js';

const LONG = 60_000;
const NOT_STORED = { code: 'service_unavailable', extra: { stored: 'no' } };

describe('a transaction with a deadline', () => {
  it('returns its result', async () => {
    const result = await runBefore(createSendDeadline(LONG), async (confirm) => {
      confirm();
      return 'stored';
    });
    expect(result).toBe('stored');
  });

  it('is refused at the deadline while it waits, and then cannot confirm', async () => {
    const { promise: lock, resolve: unlock } = Promise.withResolvers<void>();
    const confirmed = Promise.withResolvers<unknown>();
    const running = runBefore(createSendDeadline(5), async (confirm) => {
      await lock;
      try {
        confirm();
        confirmed.resolve('confirmed');
      } catch (error) {
        confirmed.resolve(error);
        throw error;
      }
    });
    await expect(running).rejects.toMatchObject(NOT_STORED);
    unlock();
    expect(await confirmed.promise).toMatchObject(NOT_STORED);
  });

  it('has the result of a COMMIT that it began before the deadline', async () => {
    const result = await runBefore(createSendDeadline(5), async (confirm) => {
      confirm();
      await sleep(20);
      return 'stored';
    });
    expect(result).toBe('stored');
  });

  it('cannot confirm after the deadline although no timer has run', async () => {
    const running = runBefore(createSendDeadline(1), async (confirm) => {
      for (const end = performance.now() + 3; performance.now() < end;);
      confirm();
    });
    await expect(running).rejects.toMatchObject(NOT_STORED);
  });

  it('cannot confirm when its sender has disconnected', async () => {
    const sender = new AbortController();
    const deadline = createSendDeadline(LONG, sender.signal);
    const running = runBefore(deadline, async (confirm) => {
      sender.abort();
      confirm();
    });
    await expect(running).rejects.toMatchObject(NOT_STORED);
    expect(deadline.remainingMs()).toBe(0);
  });

  it('rejects with the error of the transaction', async () => {
    const running = runBefore(createSendDeadline(LONG), () => Promise.reject(new Error('full')));
    await expect(running).rejects.toThrow('full');
  });
});
