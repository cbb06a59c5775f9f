import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { estimatePromptTokens, estimateTokens, TOKENS_IN_FLIGHT } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import {
  delta,
  type ProviderServer,
  type Respond,
  sse,
  startProviderServer,
  STREAM,
  streamed,
  usageChunk,
} from '../test/provider-server.js';
import { PROVIDER_KEY, startTestGateway, type TestGateway, TURN } from '../test/test-gateway.js';
import { GatewayError } from './gateway-error.js';

const MESSAGES = [{ role: 'user', content: 'a private question' }];
const CHAT = { model: 'flash', stream: true, messages: MESSAGES, max_tokens: 100 };
const MESSAGE = { model: 'sonnet', stream: true, messages: MESSAGES, max_tokens: 100 };

let provider: ProviderServer;
let gateway: TestGateway;
let respond: Respond;
let refuse: (() => void) | undefined;
beforeEach(async () => {
  respond = streamed(delta('Hi', 'stop'), usageChunk(10, 5));
  refuse = undefined;
  provider = await startProviderServer(() => respond);
  gateway = await startTestGateway({ provider: provider.url, onReserve: () => refuse?.() });
});
afterEach(async () => {
  await gateway.close();
  await provider.close();
});

const settledOnly = () => {
  expect(gateway.settled.size).toBe(1);
  return [...gateway.settled.values()][0];
};
const errorOf = async (response: Response) => ({ status: response.status, body: await response.json() });

describe('a streamed call', () => {
  it('is passed on byte by byte, and each part before the next one is sent', async () => {
    const parts = [`: comment\r\n\r\n`, sse(delta('é')), `data: {"odd":  1}\n\n`, 'data: [DONE]\n\n'];
    let next = Promise.withResolvers<void>();
    respond = async (response) => {
      response.writeHead(200, STREAM);
      for (const part of parts) {
        response.write(part);
        await next.promise;
        next = Promise.withResolvers();
      }
      response.end();
    };
    const response = await gateway.openai(CHAT);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    for (const part of parts) {
      expect((await reader.read()).value).toBe(part);
      next.resolve();
    }
    expect((await reader.read()).done).toBe(true);
  });

  it('reaches the provider with its key, the name of the model and the fields of the request', async () => {
    await (await gateway.openai({ ...CHAT, temperature: 0.5, x_unknown: { deep: [1] } })).text();
    expect(provider.requests).toHaveLength(1);
    expect(provider.requests[0]).toMatchObject({
      path: '/v1/chat/completions',
      headers: { authorization: `Bearer ${PROVIDER_KEY}`, 'content-type': 'application/json' },
      body: { ...CHAT, model: 'gpt-small', temperature: 0.5, x_unknown: { deep: [1] } },
    });
  });

  it('is reserved before it reaches the provider, and settled with the reported usage', async () => {
    respond = (response, request) => {
      expect(gateway.reserved).toHaveLength(1);
      return streamed(delta('Hi', 'stop'), usageChunk(10, 5))(response, request);
    };
    await (await gateway.openai(CHAT)).text();
    const bytes = Buffer.byteLength(JSON.stringify(CHAT));
    expect(gateway.reserved).toEqual([
      {
        id: expect.any(String),
        workspace_id: TURN.workspaceId,
        turn_id: TURN.turnId,
        agent_id: TURN.agentId,
        purpose: 'turn',
        provider: 'openai',
        model: 'gpt-small',
        requested_model: 'flash',
        estimated_prompt_tokens: Math.ceil(bytes / 3),
        max_output_tokens: 100,
      },
    ]);
    expect(settledOnly()).toEqual({
      prompt_tokens: 10,
      completion_tokens: 5,
      cached_tokens: 3,
      reasoning_tokens: 2,
      estimated: false,
      outcome: 'completed',
    });
    expect([...gateway.settled.keys()]).toEqual([gateway.reserved[0]?.id]);
  });

  it.each([
    ['flash', 'flash'],
    ['gpt-small', 'flash'],
    ['gpt-default', 'opus'],
  ])('has the price of its model: %s costs as much as %s', async (model, priced) => {
    await (await gateway.openai({ ...CHAT, model })).text();
    expect(gateway.reserved).toMatchObject([{ requested_model: priced }]);
  });

  it('counts as repeated if its client reports it', async () => {
    await (await gateway.openai(CHAT)).text();
    await (await gateway.openai(CHAT, { headers: { 'x-stainless-retry-count': '1' } })).text();
    expect(await gateway.registry.metrics()).toMatch(
      /^uswarm_model_gateway_retries_total\{.*provider="openai".*\} 1$/m,
    );
  });

  it('asks for usage if the client does not', async () => {
    await (await gateway.openai({ ...CHAT, stream_options: { other: 1 } })).text();
    expect(provider.requests[0]?.body['stream_options']).toEqual({ other: 1, include_usage: true });
  });

  it('is sent again without the request for usage if the server refuses it, which later calls remember', async () => {
    const refusal: Respond = (response) =>
      void response
        .writeHead(400, { 'content-type': 'application/json' })
        .end('{"error":"unknown field stream_options"}');
    const answer = streamed(delta('Hello you', 'stop'));
    respond = (response, request) => ('stream_options' in request.body ? refusal : answer)(response, request);
    for (const sent of [2, 3]) {
      const response = await gateway.openai(CHAT);
      expect(response.status).toBe(200);
      expect(await response.text()).toContain('Hello you');
      expect(provider.requests).toHaveLength(sent);
    }
    const usages = [...gateway.settled.values()];
    expect(usages).toHaveLength(2);
    for (const usage of usages)
      expect(usage).toMatchObject({ completion_tokens: 2, estimated: true, outcome: 'completed' });
  });

  it('ends after it is settled, so that the next call does not meet the estimate', async () => {
    const response = await gateway.openai(CHAT);
    const reader = response.body!.getReader();
    while (!(await reader.read()).done);
    expect(gateway.settled.size).toBe(1);
  });
});

describe('a cut call', () => {
  it('is cut at the provider too if the client disconnects, and settled with an estimate', async () => {
    respond = (response) => void response.writeHead(200, STREAM).write(sse(delta('x'.repeat(30))));
    const abort = new AbortController();
    const response = await gateway.openai(CHAT, { signal: abort.signal });
    await response.body!.getReader().read();
    abort.abort();
    await eventually(() => provider.aborted, { until: (aborted) => aborted === 1 });
    await eventually(() => gateway.settled.size, { until: (size) => size === 1 });
    expect(settledOnly()).toMatchObject({
      prompt_tokens: estimatePromptTokens(JSON.stringify(CHAT)),
      completion_tokens: estimateTokens('x'.repeat(30)) + TOKENS_IN_FLIGHT,
      estimated: true,
      outcome: 'cut',
    });
  });

  it('is settled with the estimated prompt if the client disconnects before the response', async () => {
    const reached = Promise.withResolvers<void>();
    respond = () => reached.resolve();
    const abort = new AbortController();
    const failed = gateway.openai(CHAT, { signal: abort.signal }).catch((error: Error) => error.name);
    await reached.promise;
    abort.abort();
    expect(await failed).toBe('AbortError');
    await eventually(() => gateway.settled.size, { until: (size) => size === 1 });
    await eventually(() => provider.aborted, { until: (aborted) => aborted === 1 });
    expect(settledOnly()).toMatchObject({
      prompt_tokens: estimatePromptTokens(JSON.stringify(CHAT)),
      completion_tokens: TOKENS_IN_FLIGHT,
      estimated: true,
      outcome: 'cut',
    });
  });

  it('does not look complete to the client if the provider disconnects', async () => {
    respond = (response) => {
      response.writeHead(200, STREAM).write(sse(delta('Half an ans')), () => response.destroy());
    };
    const response = await gateway.openai(CHAT);
    await expect(response.text()).rejects.toThrow();
    await eventually(() => gateway.settled.size, { until: (size) => size === 1 });
    expect(settledOnly()).toMatchObject({ completion_tokens: 3 + TOKENS_IN_FLIGHT, estimated: true, outcome: 'cut' });
  });

  it('is settled if the gateway shuts down', async () => {
    respond = (response) => void response.writeHead(200, STREAM).write(sse(delta('Hi')));
    const response = await gateway.openai(CHAT);
    await response.body!.getReader().read();
    await gateway.close();
    expect(settledOnly()).toMatchObject({ estimated: true, outcome: 'cut' });
  });
});

describe('a call without streaming', () => {
  it('is passed on, and its usage is read from the response', async () => {
    const answer = {
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 8, completion_tokens: 2 },
    };
    respond = (response) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    const response = await gateway.openai({ ...CHAT, stream: false });
    expect(await response.json()).toEqual(answer);
    expect(provider.requests[0]?.body).not.toHaveProperty('stream_options');
    expect(settledOnly()).toMatchObject({ prompt_tokens: 8, completion_tokens: 2, estimated: false });
  });

  it('is estimated by its text if the provider reports no usage', async () => {
    const answer = { choices: [{ index: 0, message: { content: 'y'.repeat(300) }, finish_reason: 'stop' }] };
    respond = (response) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    await (await gateway.openai({ ...CHAT, stream: false })).text();
    expect(settledOnly()).toMatchObject({
      completion_tokens: estimateTokens('y'.repeat(300)),
      estimated: true,
      outcome: 'completed',
    });
  });
});

describe('the Messages protocol', () => {
  const start = {
    type: 'message_start',
    message: {
      usage: { input_tokens: 10, cache_read_input_tokens: 4, cache_creation_input_tokens: 6, output_tokens: 1 },
    },
  };
  const text = (value: string) => ({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'text_delta', text: value },
  });
  const end = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 12 } };

  it('is passed on with its headers and the key of the provider', async () => {
    respond = streamed(start, text('Hi'), end);
    const response = await gateway.anthropic(MESSAGE, {
      headers: { 'anthropic-beta': 'b-1', 'anthropic-version': 'v' },
    });
    expect(await response.text()).toContain('text_delta');
    expect(provider.requests[0]).toMatchObject({
      path: '/v1/messages',
      headers: { 'x-api-key': PROVIDER_KEY, 'anthropic-version': 'v', 'anthropic-beta': 'b-1' },
      body: { ...MESSAGE, model: 'claude-default' },
    });
    expect(provider.requests[0]?.headers).not.toHaveProperty('authorization');
    expect(settledOnly()).toEqual({
      prompt_tokens: 20,
      completion_tokens: 12,
      cached_tokens: 4,
      reasoning_tokens: 0,
      estimated: false,
      outcome: 'completed',
    });
  });

  it('counts the reported prompt and the streamed output if the response is cut', async () => {
    respond = (response) => {
      response.writeHead(200, STREAM).write(sse(start, text('z'.repeat(60))), () => response.destroy());
    };
    const response = await gateway.anthropic(MESSAGE);
    await expect(response.text()).rejects.toThrow();
    await eventually(() => gateway.settled.size, { until: (size) => size === 1 });
    expect(settledOnly()).toMatchObject({ prompt_tokens: 20, estimated: true, outcome: 'cut' });
    expect(settledOnly()?.completion_tokens).toBeGreaterThanOrEqual(20);
  });

  it('counts a response that is not streamed', async () => {
    const answer = {
      type: 'message',
      content: [{ type: 'text', text: 'Hi' }],
      usage: { input_tokens: 3, output_tokens: 2 },
    };
    respond = (response) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    expect(await (await gateway.anthropic({ ...MESSAGE, stream: false })).json()).toEqual(answer);
    expect(settledOnly()).toMatchObject({ prompt_tokens: 3, completion_tokens: 2, estimated: false });
  });

  it('has its own form of errors', async () => {
    refuse = () => {
      throw new GatewayError('token_limit_reached', 'The limit is reached.');
    };
    expect(await errorOf(await gateway.anthropic(MESSAGE))).toEqual({
      status: 402,
      body: { type: 'error', error: { type: 'token_limit_reached', message: 'The limit is reached.' } },
    });
  });
});

describe('the output limit', () => {
  it('is lowered to that of the gateway, and added if it is missing', async () => {
    for (const body of [
      { ...CHAT, max_tokens: 1_000_000 },
      { ...CHAT, max_tokens: undefined },
    ]) {
      await (await gateway.openai(body)).text();
    }
    await (await gateway.openai({ ...CHAT, max_tokens: null, max_completion_tokens: 1_000_000 })).text();
    await (await gateway.anthropic({ ...MESSAGE, max_tokens: 1_000_000 })).text();
    expect(provider.requests.map(({ body }) => [body['max_tokens'], body['max_completion_tokens']])).toEqual([
      [32_768, undefined],
      [32_768, undefined],
      [null, 32_768],
      [32_768, undefined],
    ]);
    expect(gateway.reserved.map(({ max_output_tokens }) => max_output_tokens)).toEqual(Array(4).fill(32_768));
  });
});
