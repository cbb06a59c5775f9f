import { describe, expect, it } from '@jest/globals';
import { type ModelScript, type ModelServer, type ModelStep, startModelServer, words } from '@uswarm/testkit';
import type { ModelEvent, ModelRequest } from './model.js';
import { createOpenAiProvider, type OpenAiDeps, resolveModel } from './openai.js';

const request: ModelRequest = {
  model: 'flash',
  system: 'Be kind.',
  messages: [{ role: 'user', text: 'Hello' }],
  tools: [],
};

interface Run {
  server: ModelServer;
  events: ModelEvent[];
  error: unknown;
}

/** Streams one request from a scripted server and keeps the events before an error. */
async function run(
  script: readonly ModelStep[] | ModelScript,
  {
    signal = new AbortController().signal,
    asked = request,
    ...deps
  }: Partial<OpenAiDeps> & { signal?: AbortSignal; asked?: ModelRequest } = {},
): Promise<Run> {
  const server = await startModelServer({ script: typeof script === 'function' ? script : () => script });
  const events: ModelEvent[] = [];
  try {
    const provider = createOpenAiProvider({
      baseUrl: server.baseUrl,
      apiKey: 'secret-key',
      models: { byId: {}, fallback: 'test-model' },
      timeoutMs: 30_000,
      retries: { initialMs: 1, maxMs: 1, deadlineMs: 30_000 },
      ...deps,
    });
    for await (const event of provider.stream(asked, { signal })) events.push(event);
    return { server, events, error: undefined };
  } catch (error) {
    return { server, events, error };
  } finally {
    await server.close();
  }
}

const FEW = { initialMs: 1, maxMs: 1, deadlineMs: 100 };

const textOf = (events: readonly ModelEvent[]): string =>
  events.map((event) => (event.type === 'text' ? event.text : '')).join('');

describe('the openai provider', () => {
  it('streams text, then usage, then the finish', async () => {
    const { events, server } = await run([...words('Hello brave world'), { usage: { prompt: 12, completion: 3 } }]);
    expect(events).toEqual([
      { type: 'text', text: 'Hello ' },
      { type: 'text', text: 'brave ' },
      { type: 'text', text: 'world' },
      { type: 'usage', model: 'test-model', promptTokens: 12, completionTokens: 3 },
      { type: 'finish', reason: 'stop' },
    ]);
    expect(server.usageReported).toEqual({ answers: 1, promptTokens: 12, completionTokens: 3 });
    expect(server.requests[0]?.authorization).toBe('Bearer secret-key');
    expect(server.requests[0]?.body).toMatchObject({
      model: 'test-model',
      stream_options: { include_usage: true },
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'Hello' },
      ],
    });
    expect(server.requests[0]?.body).not.toHaveProperty('tools');
  });

  it('assembles tool calls from their chunks, in order', async () => {
    const calls = [
      { id: 'one', name: 'web_search_tool', arguments: { query: 'llamas', max_results: 3 } },
      { id: 'two', name: 'other', arguments: '{not json' },
    ];
    const { events } = await run([{ toolCalls: calls }]);
    expect(events.find(({ type }) => type === 'tool_calls')).toEqual({
      type: 'tool_calls',
      calls: [
        { id: 'one', name: 'web_search_tool', arguments: '{"query":"llamas","max_results":3}' },
        { id: 'two', name: 'other', arguments: '{not json' },
      ],
    });
    expect(events.at(-1)).toEqual({ type: 'finish', reason: 'tool_calls' });
  });

  it('sends tools, calls and results in the format of the protocol', async () => {
    const { events, server } = await run([{ fromTool: (text) => `Result: ${text}` }], {
      asked: {
        ...request,
        messages: [
          ...request.messages,
          { role: 'assistant', text: '', toolCalls: [{ id: 'one', name: 'look', arguments: '{}' }] },
          { role: 'tool', callId: 'one', name: 'look', text: 'a llama', data: 'a llama', failed: false },
        ],
        tools: [{ name: 'look', description: 'Looks.', inputSchema: { type: 'object' } }],
      },
    });
    expect(textOf(events)).toBe('Result: a llama');
    expect(server.requests[0]?.body.tools).toEqual([
      { type: 'function', function: { name: 'look', description: 'Looks.', parameters: { type: 'object' } } },
    ]);
    expect(server.requests[0]?.body.messages.slice(2)).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'one', type: 'function', function: { name: 'look', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'one', content: 'a llama' },
    ]);
  });

  it.each([
    [401, 'model_rejected'],
    [400, 'model_rejected'],
    [429, 'model_rate_limited'],
    [500, 'model_unavailable'],
  ])('maps status %d to %s without quoting the provider', async (status, code) => {
    const { error } = await run([{ error: { status, message: 'key sk-leaked is wrong' } }], { retries: FEW });
    expect(error).toMatchObject({ code, message: expect.not.stringContaining('sk-leaked') });
  });

  it('retries if the server fails before its first chunk', async () => {
    const { events, server } = await run((_request, index) =>
      index === 0 ? [{ error: { status: 503 } }] : words('Fine.'),
    );
    expect(textOf(events)).toBe('Fine.');
    expect(server.requests).toHaveLength(2);
  });

  it('does not retry if it is limited or rejected', async () => {
    for (const status of [429, 401]) {
      const { server } = await run([{ error: { status } }]);
      expect(server.requests).toHaveLength(1);
    }
  });

  it('does not retry after the first chunk', async () => {
    const { events, error, server } = await run([{ text: 'Half an ans' }, { cut: true }]);
    expect(textOf(events)).toBe('Half an ans');
    expect(error).toMatchObject({ code: 'model_unavailable' });
    expect(server.requests).toHaveLength(1);
    expect(server.usageReported.answers).toBe(0);
  });

  it('reports a missing server as unavailable', async () => {
    const { error } = await run([], { baseUrl: 'http://127.0.0.1:1/v1', retries: FEW });
    expect(error).toMatchObject({ code: 'model_unavailable' });
  });

  it('reports a timeout if the server is silent', async () => {
    const { error, events } = await run([{ text: 'Well ' }, { hang: true }], { timeoutMs: 3_000 });
    expect(textOf(events)).toBe('Well ');
    expect(error).toMatchObject({ code: 'model_timeout' });
  });

  it('throws the reason of the signal if it is aborted, and closes the connection', async () => {
    const stop = new AbortController();
    const server = await startModelServer({ script: () => [{ text: 'a' }, { hold: 'middle' }, { text: 'b' }] });
    const provider = createOpenAiProvider({
      baseUrl: server.baseUrl,
      models: { byId: {}, fallback: 'm' },
      timeoutMs: 30_000,
    });
    const answer = (async () => {
      for await (const event of provider.stream(request, { signal: stop.signal }))
        expect(event).toEqual({ type: 'text', text: 'a' });
    })();
    await server.reached('middle');
    stop.abort(new Error('stopped'));
    await expect(answer).rejects.toThrow('stopped');
    expect(server.usageReported.answers).toBe(0);
    await server.close();
  });
});

describe('the resolved model name', () => {
  const byId = { flash: 'small', sonnet: undefined, opus: undefined };
  it.each([
    ['the mapping of the id', 'flash', { byId, fallback: 'any', preferred: 'best' }, 'small'],
    ['OPENAI_MODEL for an id without a mapping', 'sonnet', { byId, fallback: 'any', preferred: 'best' }, 'any'],
    ['the default model if nothing else is set', 'sonnet', { byId, preferred: 'best' }, 'best'],
    [
      'the mapping of the default, where the request names none',
      '',
      { byId, fallback: 'any', preferred: 'flash' },
      'small',
    ],
    ['the default itself if it is not an id', '', { byId, preferred: 'best' }, 'best'],
    [
      'the default itself also where OPENAI_MODEL names another',
      '',
      { byId, fallback: 'any', preferred: 'best' },
      'best',
    ],
    ['that of sonnet without a default', '', { byId: { ...byId, sonnet: 'mid' }, fallback: 'any' }, 'mid'],
    ['OPENAI_MODEL where there is nothing else', '', { byId, fallback: 'any' }, 'any'],
    ['a model name of the provider', 'gpt-x', { byId, fallback: 'any', preferred: 'flash' }, 'gpt-x'],
  ])('is %s', (_name, requested, names, expected) => {
    expect(resolveModel(requested, names)).toBe(expected);
  });

  it('is an error if no model is configured', () => {
    expect(() => resolveModel('sonnet', { byId, preferred: 'opus' })).toThrow('set OPENAI_MODEL');
    expect(() => resolveModel('', { byId })).toThrow('set OPENAI_MODEL');
  });
});
