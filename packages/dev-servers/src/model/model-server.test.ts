import { afterEach, describe, expect, it } from '@jest/globals';
import type { ModelStep } from './model-script.js';
import { type ModelServer, type ModelServerOptions, startModelServer } from './model-server.js';

const servers: ModelServer[] = [];

async function start(options: Partial<ModelServerOptions> & { steps?: readonly ModelStep[] }): Promise<ModelServer> {
  const server = await startModelServer({ script: () => options.steps ?? [{ text: 'Hi.' }], ...options });
  servers.push(server);
  return server;
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

function post(server: ModelServer, path: string, body: object, signal?: AbortSignal): Promise<Response> {
  return fetch(`${server.baseUrl}/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'secret' },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
}

const openAi = (server: ModelServer, body: object): Promise<Response> =>
  post(server, 'chat/completions', { model: 'm', stream: true, stream_options: { include_usage: true }, ...body });

const anthropic = (server: ModelServer, body: object): Promise<Response> =>
  post(server, 'messages', { model: 'm', stream: true, max_tokens: 10, ...body });

const user = (content: string): object => ({ role: 'user', content });
const call = (id: string, name: string, text: string): object => ({
  id,
  type: 'function',
  function: { name, arguments: text },
});
const look = { type: 'function', function: { name: 'look', description: 'Looks.', parameters: { type: 'object' } } };

/** Event data in a stream, without the end marker. */
const eventsOf = async (response: Response): Promise<Record<string, unknown>[]> =>
  (await response.text())
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)) as Record<string, unknown>);

const STEPS: ModelStep[] = [
  { thinking: 'Hm.', signature: 'signed' },
  { text: 'Let me ' },
  { text: 'see.' },
  { toolCalls: [{ id: 'one', name: 'look', arguments: { at: 'it' } }] },
  { usage: { prompt: 100, completion: 20, cached: 60, cacheWrite: 30 } },
];

describe('the model server', () => {
  it('streams a script in the OpenAI protocol', async () => {
    const events = await eventsOf(await openAi(await start({ steps: STEPS }), { messages: [user('Hi')] }));
    const deltas = events.flatMap(({ choices }) => (choices as { delta: object; finish_reason: unknown }[]) ?? []);
    expect(deltas.map(({ delta }) => delta)).toEqual([
      { reasoning_content: 'Hm.' },
      { content: 'Let me ' },
      { content: 'see.' },
      { tool_calls: [{ index: 0, id: 'one', type: 'function', function: { name: 'look', arguments: '{"at":' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '"it"}' } }] },
      {},
    ]);
    expect(deltas.at(-1)?.finish_reason).toBe('tool_calls');
    expect(events.at(-1)).toMatchObject({
      usage: { prompt_tokens: 100, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 60 } },
    });
  });

  it('streams the same script in the Messages protocol', async () => {
    const events = await eventsOf(await anthropic(await start({ steps: STEPS }), { messages: [user('Hi')] }));
    const block = ['content_block_start', 'content_block_delta', 'content_block_delta', 'content_block_stop'];
    expect(events.map(({ type }) => type)).toEqual([
      'message_start',
      ...block,
      ...block,
      ...block,
      'message_delta',
      'message_stop',
    ]);
    expect(events[0]).toMatchObject({
      message: { usage: { input_tokens: 10, cache_read_input_tokens: 60, cache_creation_input_tokens: 30 } },
    });
    expect(events.at(-2)).toMatchObject({ delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 20 } });
  });

  it('translates requests of the Messages protocol for the script', async () => {
    const server = await start({ steps: [{ fromTool: (text) => `Found ${text}` }] });
    const content = [{ type: 'tool_result', tool_use_id: 'one', content: [{ type: 'text', text: 'a llama' }] }];
    const response = await anthropic(server, {
      system: [{ type: 'text', text: 'Be kind.' }],
      messages: [
        user('Hi'),
        { role: 'assistant', content: [{ type: 'tool_use', id: 'one', name: 'look', input: { at: 1 } }] },
        { role: 'user', content },
      ],
      tools: [{ name: 'look', input_schema: { type: 'object' } }],
    });
    expect(await response.text()).toContain('Found a llama');
    expect(server.requests[0]).toMatchObject({
      protocol: 'anthropic',
      authorization: 'Bearer secret',
      body: {
        messages: [
          { role: 'system', content: 'Be kind.' },
          { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
          { role: 'assistant', tool_calls: [{ id: 'one', function: { name: 'look', arguments: '{"at":1}' } }] },
          { role: 'tool', tool_call_id: 'one', content: 'a llama' },
        ],
        tools: [{ function: { name: 'look' } }],
      },
    });
  });

  it('counts the tokens that it sent before a connection was cut', async () => {
    const server = await start({ steps: [{ text: 'one two three' }, { disconnect: true }] });
    const response = await openAi(server, { messages: [user('Hi')] });
    await expect(response.text()).rejects.toThrow('terminated');
    expect(server.usageReported).toEqual({ answers: 0, promptTokens: 0, completionTokens: 0 });
    expect(server.usageCounted).toEqual({ answers: 1, promptTokens: 5, completionTokens: 3 });
  });

  it('reports whether a response was sent completely or its connection was closed before', async () => {
    const ended: [number, boolean][] = [];
    const cut = Promise.withResolvers<void>();
    const server = await start({
      script: (_request, index) => (index === 0 ? [{ text: 'Hi.' }] : [{ text: 'Wait.' }, { hang: true }]),
      onEnd(index, complete) {
        ended.push([index, complete]);
        if (!complete) cut.resolve();
      },
    });
    await (await openAi(server, { messages: [user('Hi')] })).text();
    const leave = new AbortController();
    await post(server, 'chat/completions', { model: 'm', stream: true, messages: [user('Hi')] }, leave.signal);
    leave.abort();
    await cut.promise;
    expect(ended).toEqual([
      [0, true],
      [1, false],
    ]);
  });

  it('counts nothing for an error response', async () => {
    const server = await start({ steps: [{ error: { status: 529, headers: { 'retry-after': '3' } } }] });
    const response = await anthropic(server, { messages: [user('Hi')] });
    expect({ status: response.status, retryAfter: response.headers.get('retry-after') }).toEqual({
      status: 529,
      retryAfter: '3',
    });
    expect(await response.json()).toMatchObject({ type: 'error', error: { type: 'overloaded_error' } });
    expect(server.usageCounted.answers).toBe(0);
  });

  it('refuses a request that exceeds the context window', async () => {
    const server = await start({ contextWindow: 100 });
    const fits = { max_tokens: 20, messages: [user('word '.repeat(50))] };
    const exceeds = { max_tokens: 60, messages: [user('word '.repeat(50))] };
    expect((await openAi(server, fits)).status).toBe(200);
    const refused = await openAi(server, exceeds);
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { code: 'context_length_exceeded' } });
    expect(await (await anthropic(server, exceeds)).json()).toMatchObject({
      error: { message: expect.stringContaining('prompt is too long') },
    });
  });

  const assistant = (...calls: object[]): object => ({ role: 'assistant', content: null, tool_calls: calls });
  const result = (id: string): object => ({ role: 'tool', tool_call_id: id, content: 'x' });

  it.each([
    ['two messages of the user in a row', [user('a'), user('b')], 'must alternate'],
    ['an assistant message at the start', [{ role: 'assistant', content: 'a' }, user('b')], 'must alternate'],
    ['a system message in the middle', [user('a'), { role: 'system', content: 'b' }], 'must alternate'],
    ['an assistant message at the end', [user('a'), { role: 'assistant', content: 'b' }], 'last message'],
    ['an empty message', [user('')], 'is empty'],
    ['a call without a result', [user('a'), assistant(call('1', 'look', '{}')), user('b')], 'have no results'],
    [
      'a result of an unknown call',
      [user('a'), assistant(call('1', 'look', '{}')), result('1'), result('2')],
      "the id '2'",
    ],
    ['a call with an empty id', [user('a'), assistant(call('', 'look', '{}')), result('')], 'not unique'],
    ['arguments that are not JSON', [user('a'), assistant(call('1', 'look', '{')), result('1')], 'JSON object'],
    ['arguments that are a list', [user('a'), assistant(call('1', 'look', '[]')), result('1')], 'JSON object'],
    ['a call with an invalid name', [user('a'), assistant(call('1', 'a.b', '{}')), result('1')], 'does not match'],
    ['a lone surrogate', [user('\ud83d')], 'lone surrogate'],
  ])('refuses %s if it is strict', async (_case, messages, reason) => {
    const server = await start({ strict: true });
    const response = await openAi(server, { messages, tools: [look] });
    expect(response.status).toBe(400);
    expect(server.refusals).toEqual([expect.stringContaining(reason)]);
  });

  it.each([
    ['roles that do not alternate', [user('a'), user('b')], 'must alternate'],
    ['a text of spaces', [user(' ')], 'non-whitespace'],
    [
      'results after other content',
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'tool_result', tool_use_id: '1' },
          ],
        },
      ],
      'come first',
    ],
  ])('refuses %s in the Messages protocol if it is strict', async (_case, messages, reason) => {
    const server = await start({ strict: true });
    expect((await anthropic(server, { messages })).status).toBe(400);
    expect(server.refusals).toEqual([expect.stringContaining(reason)]);
  });

  it('accepts a conversation with calls if it is strict', async () => {
    const server = await start({ strict: true });
    const messages = [
      { role: 'system', content: 'Be kind.' },
      user('a'),
      assistant(call('1', 'look', '{}'), call('2', 'look', '{}')),
      result('2'),
      result('1'),
      { role: 'assistant', content: 'Done.' },
      user('b'),
    ];
    expect((await openAi(server, { messages, tools: [look] })).status).toBe(200);
    expect(server.refusals).toEqual([]);
  });
});
