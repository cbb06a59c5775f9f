import { describe, expect, it } from '@jest/globals';
import { createSearchSlots, maxConcurrentSearches } from './search-slots.js';

describe('search slots', () => {
  /** Searches that run until the test ends them. */
  const scene = (maxConcurrent: number) => {
    const slots = createSearchSlots(maxConcurrent);
    const started: string[] = [];
    const search = (userId: string, name: string, signal = new AbortController().signal) => {
      const end = Promise.withResolvers<void>();
      const done = slots.run(userId, signal, async () => {
        started.push(name);
        await end.promise;
      });
      return { end: end.resolve, done };
    };
    const settle = () => new Promise((resolve) => setImmediate(resolve));
    return { started, search, settle };
  };

  it('run one search per user at a time, in order, without starvation', async () => {
    const { started, search, settle } = scene(2);
    const first = search('ada', 'a1');
    search('ada', 'a2');
    search('bob', 'b1');
    await settle();
    expect(started).toEqual(['a1', 'b1']);
    first.end();
    await settle();
    expect(started).toEqual(['a1', 'b1', 'a2']);
  });

  it('limit the number of concurrent searches', async () => {
    const { started, search, settle } = scene(2);
    const running = [search('ada', 'a'), search('bob', 'b'), search('eve', 'e')];
    await settle();
    expect(started).toEqual(['a', 'b']);
    running[1]?.end();
    await settle();
    expect(started).toEqual(['a', 'b', 'e']);
  });

  it('drop a waiting search when its signal is aborted', async () => {
    const { started, search, settle } = scene(1);
    const first = search('ada', 'a1');
    const gone = new AbortController();
    const second = search('ada', 'a2', gone.signal);
    const third = search('ada', 'a3');
    gone.abort(new Error('gone'));
    await expect(second.done).rejects.toThrow('gone');
    first.end();
    await settle();
    expect(started).toEqual(['a1', 'a3']);
    third.end();
    await third.done;
  });

  it('release the slot when a search fails', async () => {
    const slots = createSearchSlots(1);
    const signal = new AbortController().signal;
    await expect(slots.run('ada', signal, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await slots.run('ada', signal, async () => 'again')).toBe('again');
  });

  it('use a quarter of the connections, at least one', () => {
    expect([2, 7, 8, 20].map(maxConcurrentSearches)).toEqual([1, 1, 2, 5]);
  });
});
