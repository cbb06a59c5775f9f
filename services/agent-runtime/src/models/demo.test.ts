import { describe, expect, it } from '@jest/globals';
import { createDemoProvider } from './demo.js';
import type { ModelEvent, ModelRequest } from './model.js';

const request = (text: string): ModelRequest => ({
  model: '',
  system: 'system',
  messages: [{ role: 'user', text }],
  tools: [{ name: 'web_search_tool', description: '', inputSchema: {} }],
});

async function collect(events: AsyncIterable<ModelEvent>): Promise<ModelEvent[]> {
  const list: ModelEvent[] = [];
  for await (const event of events) list.push(event);
  return list;
}

const run = (text: string): Promise<ModelEvent[]> =>
  collect(createDemoProvider({ delayMs: 0 }).stream(request(text), { signal: new AbortController().signal }));

describe('the demo provider', () => {
  it('streams its answer word by word and derives usage from the number of characters', async () => {
    const events = await run('Hello you');
    const pieces = events.flatMap((event) => (event.type === 'text' ? [event.text] : []));
    expect(pieces.slice(0, 5)).toEqual(['[demo] ', 'You ', 'asked: ', 'Hello ', 'you\n\n']);
    expect(events.slice(-2)).toEqual([
      { type: 'usage', model: 'demo', promptTokens: 4, completionTokens: Math.ceil(pieces.join('').length / 4) },
      { type: 'finish', reason: 'stop' },
    ]);
    expect(await run('Hello you')).toEqual(events);
  });

  it('requests a search with a tool call', async () => {
    const [first] = await run('search for llamas');
    expect(first).toEqual({
      type: 'tool_calls',
      calls: [{ id: 'demo_call_1', name: 'web_search_tool', arguments: '{"query":"llamas"}' }],
    });
  });

  it('throws the reason of the signal if it is aborted', async () => {
    const stop = new AbortController();
    const stream = createDemoProvider({ delayMs: 60_000 }).stream(request('Hello'), { signal: stop.signal });
    const answer = collect(stream);
    stop.abort(new Error('stopped'));
    await expect(answer).rejects.toThrow('stopped');
  });
});
