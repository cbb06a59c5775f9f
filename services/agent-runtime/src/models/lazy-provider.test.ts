import { describe, expect, it } from '@jest/globals';
import { lazyProvider } from './lazy-provider.js';
import type { ModelEvent } from './model.js';

const REQUEST = { model: '', system: '', messages: [], tools: [] };
const FINISH: ModelEvent = { type: 'finish', reason: 'stop' };

describe('a lazy provider', () => {
  it('loads the provider once, with the first call', async () => {
    let loads = 0;
    const provider = lazyProvider('late', () => {
      loads += 1;
      return Promise.resolve({
        name: 'late',
        async *stream() {
          yield await Promise.resolve(FINISH);
        },
      });
    });
    expect({ name: provider.name, loads }).toEqual({ name: 'late', loads: 0 });
    for (let call = 0; call < 2; call += 1) {
      const events: ModelEvent[] = [];
      for await (const event of provider.stream(REQUEST, { signal: new AbortController().signal })) events.push(event);
      expect(events).toEqual([FINISH]);
    }
    expect(loads).toBe(1);
  });
});
