import { describe, expect, it } from '@jest/globals';
import { answer, call, names, type Options, QUESTION } from '../../test/model-call.js';
import { sendChunks, sendEvents, startRawModelServer } from '../../test/raw-model-server.js';
import type { Prompt } from './port.js';
import { createAnthropicAdapter } from './providers/anthropic.js';

describe('the Messages protocol', () => {
  const start = (usage: object = { input_tokens: 10, output_tokens: 1 }) => ({
    type: 'message_start',
    message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', content: [], usage },
  });
  const block = (index: number, content: object) => ({ type: 'content_block_start', index, content_block: content });
  const piece = (index: number, change: object) => ({ type: 'content_block_delta', index, delta: change });
  const close = (index: number) => ({ type: 'content_block_stop', index });
  const end = (reason: string, usage: object = { output_tokens: 5 }) => [
    { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage },
    { type: 'message_stop' },
  ];
  const textBlock = (text: string) => [
    block(0, { type: 'text', text: '' }),
    piece(0, { type: 'text_delta', text }),
    close(0),
  ];
  const anthropic = (events: readonly ({ type: string } & object)[], options: Options = {}) =>
    call((response) => sendEvents(response, events), { provider: 'anthropic', ...options });

  it.each(['', '/', '/v1', '/v1/'])('accepts a base URL that ends with "%s"', async (ending) => {
    await using server = await startRawModelServer((response) => sendEvents(response, []));
    const baseUrl = `${new URL(server.url).origin}/proxy${ending}`;
    const { languageModel } = createAnthropicAdapter({ slug: 'anthropic', baseUrl, names });
    const model = languageModel({ model: 'claude', fetch, token: undefined });
    await model.doStream({ prompt: QUESTION });
    expect(server.requests.map(({ path }) => path)).toEqual(['/proxy/v1/messages']);
  });

  it('counts cached tokens as part of the prompt', async () => {
    const usage = { input_tokens: 10, cache_read_input_tokens: 100, cache_creation_input_tokens: 30, output_tokens: 1 };
    const outcome = await anthropic([start(usage), { type: 'ping' }, ...textBlock('Hi'), ...end('end_turn')]);
    expect(outcome).toMatchObject({ text: 'Hi', step: { finish: 'answered' } });
    expect(outcome.usage).toEqual([
      {
        model: 'claude',
        promptTokens: 140,
        completionTokens: 5,
        cachedTokens: 100,
        reasoningTokens: 0,
        estimated: false,
      },
    ]);
    expect(outcome.requests[0]).toMatchObject({
      path: '/v1/messages',
      headers: { 'x-api-key': 'key' },
      body: { max_tokens: 100 },
    });
  });

  it('keeps parallel calls apart and sends back signed and redacted thoughts unchanged', async () => {
    const { step } = await anthropic([
      start(),
      block(0, { type: 'thinking', thinking: '', signature: '' }),
      piece(0, { type: 'thinking_delta', thinking: 'Two calls.' }),
      piece(0, { type: 'signature_delta', signature: 'sig==' }),
      close(0),
      block(1, { type: 'redacted_thinking', data: 'opaque' }),
      close(1),
      block(2, { type: 'tool_use', id: 'toolu_1', name: 'search', input: {} }),
      piece(2, { type: 'input_json_delta', partial_json: '' }),
      piece(2, { type: 'input_json_delta', partial_json: '{"q":' }),
      piece(2, { type: 'input_json_delta', partial_json: '"a"}' }),
      close(2),
      block(3, { type: 'tool_use', id: 'toolu_2', name: 'open', input: {} }),
      piece(3, { type: 'input_json_delta', partial_json: '{"u":"b"}' }),
      close(3),
      ...end('tool_use'),
    ]);
    expect(step).toMatchObject({
      finish: 'calls',
      calls: [
        { name: 'search', input: { q: 'a' } },
        { name: 'open', input: { u: 'b' } },
      ],
    });
    const results = step!.calls.map(({ id, name }) => ({
      type: 'tool-result' as const,
      toolCallId: id,
      toolName: name,
      output: { type: 'text' as const, value: 'found' },
    }));
    const prompt: Prompt = [...QUESTION, step!.message, { role: 'tool', content: results }];
    const { requests } = await anthropic([start(), ...textBlock('Hi'), ...end('end_turn')], { request: { prompt } });
    expect(requests[0]?.body['messages']).toMatchObject([
      { role: 'user' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Two calls.', signature: 'sig==' },
          { type: 'redacted_thinking', data: 'opaque' },
          { type: 'tool_use', name: 'search', input: { q: 'a' } },
          { type: 'tool_use', name: 'open', input: { u: 'b' } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result' }, { type: 'tool_result' }] },
    ]);
  });

  it('is repeated if the stream ends without a stop reason', async () => {
    const { shown, usage } = await call(
      (response, _request, index) =>
        sendEvents(response, [start(), ...textBlock('Hi'), ...(index === 0 ? [] : end('end_turn'))]),
      { provider: 'anthropic' },
    );
    expect(shown).toEqual(['Hi', 'retracted', 'Hi']);
    expect(usage).toMatchObject([{ estimated: true }, { estimated: false }]);
  });

  it('sends images of tool results to models of both protocols', async () => {
    const image = {
      type: 'file' as const,
      mediaType: 'image/png',
      data: { type: 'data' as const, data: 'iVBORw0KGgo=' },
    };
    const output = { type: 'content' as const, value: [{ type: 'text' as const, text: 'A chart.' }, image] };
    const result = { type: 'tool-result' as const, toolCallId: 'abc', toolName: 'search', output };
    const prompt: Prompt = [
      ...QUESTION,
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'abc', toolName: 'search', input: {} }] },
      { role: 'tool', content: [result] },
    ];
    const messages = await anthropic([start(), ...textBlock('Hi'), ...end('end_turn')], { request: { prompt } });
    expect(((messages.requests[0]?.body['messages'] ?? []) as object[]).at(-1)).toMatchObject({
      role: 'user',
      content: [
        { type: 'tool_result', content: [{ text: 'A chart.' }, { type: 'image', source: { data: 'iVBORw0KGgo=' } }] },
      ],
    });
    const completions = await call((response) => sendChunks(response, answer('Hi')), { request: { prompt } });
    expect(((completions.requests[0]?.body['messages'] ?? []) as object[]).slice(-2)).toMatchObject([
      { role: 'tool', content: 'A chart.' },
      { role: 'user', content: [{ type: 'text' }, { image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }] },
    ]);
  });

  it.each([
    ['max_tokens', 'length'],
    ['refusal', 'refused'],
  ])('recognizes the stop reason %s', async (reason, finish) => {
    expect((await anthropic([start(), ...textBlock('Hi'), ...end(reason)])).step?.finish).toBe(finish);
  });

  it('is repeated if the server reports an overload in the stream', async () => {
    const overload = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    const { text, requests } = await call(
      (response, _request, index) =>
        sendEvents(response, index === 0 ? [start(), overload] : [start(), ...textBlock('Hi'), ...end('end_turn')]),
      { provider: 'anthropic' },
    );
    expect({ text, requests: requests.length }).toEqual({ text: 'Hi', requests: 2 });
  });
});
