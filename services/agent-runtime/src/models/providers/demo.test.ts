import { describe, expect, it } from '@jest/globals';
import { createModelPort } from '../model-port.js';
import type { StepEvent, StepRequest } from '../port.js';
import { createDemoAdapter } from './demo.js';

const request = (text: string): StepRequest => ({
  model: '',
  prompt: [
    { role: 'system', content: 'system' },
    { role: 'user', content: [{ type: 'text', text }] },
  ],
  tools: [{ type: 'function', name: 'web_search_tool', description: '', inputSchema: {} }],
  toolChoice: 'auto',
  maxOutputTokens: 100,
});

const limits = { firstByteMs: 60_000, betweenBytesMs: 60_000, totalMs: 60_000 };

async function run(
  text: string,
  { delayMs = 0, toolChoice = 'auto' as StepRequest['toolChoice'], signal = new AbortController().signal } = {},
) {
  const port = createModelPort({ adapter: createDemoAdapter({ delayMs }), limits });
  const events: StepEvent[] = [];
  for await (const event of port.step({ ...request(text), toolChoice }, { signal })) events.push(event);
  return events;
}

describe('the demo provider', () => {
  it('streams its answer word by word and reports usage', async () => {
    const events = await run('Hello you');
    const pieces = events.flatMap((event) => (event.type === 'text' ? [event.text] : []));
    expect(pieces.slice(0, 5)).toEqual(['[demo] ', 'You ', 'asked: ', 'Hello ', 'you\n\n']);
    expect(events.at(-2)).toMatchObject({
      type: 'usage',
      usage: {
        model: 'demo',
        promptTokens: expect.any(Number),
        completionTokens: expect.any(Number),
        estimated: false,
      },
    });
    expect(events.at(-1)).toMatchObject({ type: 'end', step: { finish: 'answered', text: pieces.join('') } });
    expect(await run('Hello you')).toEqual(events);
  });

  it('requests a search with a tool call, unless it has to answer', async () => {
    const search = { finish: 'calls', calls: [{ name: 'web_search_tool', input: { query: 'llamas' } }] };
    expect((await run('search for llamas')).at(-1)).toMatchObject({ step: search });
    expect((await run('search for llamas', { toolChoice: 'none' })).at(-1)).toMatchObject({
      step: { finish: 'answered' },
    });
  });

  it('throws the reason of the signal if it is aborted', async () => {
    const stop = new AbortController();
    const answer = run('Hello', { delayMs: 50_000, signal: stop.signal });
    stop.abort(new Error('stopped'));
    await expect(answer).rejects.toThrow('stopped');
  });
});
