import { describe, expect, it } from '@jest/globals';
import { lazyPort } from './lazy-port.js';
import type { StepEvent, StepRequest } from './port.js';

const REQUEST: StepRequest = { model: '', prompt: [], tools: [], toolChoice: 'auto', maxOutputTokens: 1 };
const TEXT: StepEvent = { type: 'text', text: 'a' };

describe('a lazy port', () => {
  it('loads the provider before the first call if it is prepared', async () => {
    let loads = 0;
    const port = lazyPort('late', () => {
      loads += 1;
      return Promise.resolve({ provider: 'late', step: () => Promise.reject(new Error('not called')) as never });
    });
    await port.prepare?.();
    await port.prepare?.();
    expect(loads).toBe(1);
  });

  it('loads the provider once, with the first call', async () => {
    let loads = 0;
    const port = lazyPort('late', () => {
      loads += 1;
      return Promise.resolve({
        provider: 'late',
        async *step() {
          yield await Promise.resolve(TEXT);
        },
      });
    });
    expect({ provider: port.provider, loads }).toEqual({ provider: 'late', loads: 0 });
    for (let call = 0; call < 2; call += 1) {
      const events: StepEvent[] = [];
      for await (const event of port.step(REQUEST, { signal: new AbortController().signal })) events.push(event);
      expect(events).toEqual([TEXT]);
    }
    expect(loads).toBe(1);
  });
});
