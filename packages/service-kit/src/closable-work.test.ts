import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { createClosableWork } from './closable-work.js';

const never = new AbortController().signal;

describe('work that its owner closes', () => {
  it('is aborted with the reason, and has ended before the close resolves', async () => {
    const work = createClosableWork('It is closed.');
    const ended: string[] = [];
    const result = work.run(never, async (signal) => {
      await once(signal, 'abort');
      ended.push('work');
      throw signal.reason;
    });
    const closed = work.close().then(() => ended.push('close'));
    await expect(result).rejects.toThrow('It is closed.');
    await closed;
    expect(ended).toEqual(['work', 'close']);
  });

  it('is aborted by the signal of its caller alone', async () => {
    const work = createClosableWork('It is closed.');
    const caller = new AbortController();
    const run = (signal: AbortSignal) =>
      work.run(signal, async (aborted) => {
        await Promise.resolve();
        return aborted.aborted;
      });
    caller.abort();
    expect([await run(caller.signal), await run(never)]).toEqual([true, false]);
  });
});
