import { describe, expect, it } from '@jest/globals';
import { answer, call, LIMITS, names, NEVER, REQUEST } from '../../test/model-call.js';
import {
  delta,
  type RawHandler,
  sendChunks,
  sendError,
  startEvents,
  startRawModelServer,
} from '../../test/raw-model-server.js';
import { createModelPort } from './model-port.js';
import type { StepEvent } from './port.js';
import { createOpenAiCompatible } from './providers/openai-compatible.js';

describe('a failed model call', () => {
  const then =
    (...failures: RawHandler[]): RawHandler =>
    (response, request, index) =>
      (failures[index] ?? ((last) => sendChunks(last, answer('Hi'))))(response, request, index);
  const status =
    (code: number, headers: Record<string, string> = {}, error: unknown = { message: 'no' }): RawHandler =>
    (response) =>
      sendError(response, code, error, headers);

  it.each([408, 409, 425, 429, 500, 502, 503, 504, 529])('is repeated after status %d', async (code) => {
    const { text, requests, usage } = await call(then(status(code)));
    expect(text).toBe('Hi');
    expect(requests).toHaveLength(2);
    expect(usage).toHaveLength(1);
  });

  it('tells the model gateway how often it was repeated', async () => {
    const { requests } = await call(then(status(503), status(503)));
    expect(requests.map(({ headers }) => headers['x-stainless-retry-count'])).toEqual(['0', '1', '2']);
  });

  it.each([400, 401, 403, 404, 422])('is final after status %d', async (code) => {
    const { error, requests, usage } = await call(status(code));
    expect(error).toMatchObject({ code: 'model_rejected', message: expect.stringContaining(`status ${code}`) });
    expect({ requests: requests.length, usage }).toEqual({ requests: 1, usage: [] });
  });

  it('is repeated if a limit of tokens is reached, which is not the limit of the prompt', async () => {
    const throttled = status(429, {}, { message: 'Too many tokens, please wait before trying again.' });
    const { text, requests } = await call(then(throttled));
    expect({ text, requests: requests.length }).toEqual({ text: 'Hi', requests: 2 });
    const limited = await call(throttled);
    expect(limited.error).toMatchObject({ code: 'model_rate_limited', contextOverflow: false });
  });

  it('is final if the model gateway reports that the provider rejected its key', async () => {
    const { error, requests } = await call((response) =>
      sendError(response, 502, { code: 'provider_credentials_rejected', message: 'The key was rejected.' }),
    );
    expect(error).toMatchObject({ code: 'model_rejected', message: expect.stringContaining('check its API key') });
    expect(requests).toHaveLength(1);
  });

  it('is final, and blames no key of the provider, if the model gateway refuses the token of the turn', async () => {
    const { error, requests } = await call((response) =>
      sendError(response, 401, { code: 'token_invalid', message: 'A valid model token is required.' }),
    );
    expect(error).toMatchObject({
      code: 'model_unavailable',
      message: 'The model gateway refused the token of this answer.',
    });
    expect(requests).toHaveLength(1);
  });

  it.each<[string, Record<string, string>, number]>([
    ['seconds', { 'retry-after': '5' }, 5_000],
    ['milliseconds', { 'retry-after-ms': '1500', 'retry-after': '5' }, 1_500],
  ])('waits as long as the provider asks: %s', async (_form, headers, expected) => {
    const { text, waits } = await call(then(status(429, headers), status(429, headers)));
    expect(text).toBe('Hi');
    expect(waits).toEqual([expected, expected]);
  });

  it.each([undefined, () => undefined])(
    'is final if the provider asks to wait longer than a turn may wait, such as an hour',
    async (onLongWait) => {
      const headers = { 'retry-after': new Date(Date.now() + 3_600_000).toUTCString() };
      const { error, waits } = await call(then(status(429, headers)), onLongWait === undefined ? {} : { onLongWait });
      expect(error).toMatchObject({ code: 'model_rate_limited' });
      expect(waits).toEqual([]);
    },
  );

  it('reports a long wait of a turn that may wait, and is repeated after it', async () => {
    const long: number[] = [];
    const handle = then(status(429, { 'retry-after': '20' }), status(429, { 'retry-after': '600' }));
    const { text, waits } = await call(handle, { onLongWait: (ms) => long.push(ms) });
    expect(text).toBe('Hi');
    expect({ waits, long }).toEqual({ waits: [20_000, 600_000], long: [600_000] });
  });

  it.each<[string, Record<string, string>]>([
    ['does not name a wait', {}],
    ['asks for no wait', { 'retry-after': '0' }],
    ['asks for a wait until a date in the past', { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }],
  ])('is repeated with growing waits that end after two minutes if the provider %s', async (_name, headers) => {
    const { error, waits } = await call(status(429, headers));
    expect(error).toMatchObject({ code: 'model_rate_limited' });
    const total = waits.reduce((sum, wait) => sum + wait, 0);
    expect(total).toBeLessThanOrEqual(120_000);
    expect(waits.length).toBeGreaterThan(6);
    for (const [index, wait] of waits.entries()) {
      const backoff = Math.min(20_000, 500 * 2 ** index);
      expect(wait).toBeGreaterThanOrEqual(backoff / 2);
      expect(wait).toBeLessThanOrEqual(backoff);
    }
  });

  it('is repeated after an error in the stream before any text', async () => {
    const overloaded: RawHandler = (response) =>
      sendChunks(response, [{ error: { message: 'overloaded', type: 'overloaded_error', code: 529 } }]);
    const { text, shown, requests } = await call(then(overloaded));
    expect({ text, shown, requests: requests.length }).toEqual({ text: 'Hi', shown: ['Hi'], requests: 2 });
  });

  it('retracts visible text once, and not a second time', async () => {
    const cut: RawHandler = (response) => {
      startEvents(response);
      response.write(`data: ${JSON.stringify(delta({ content: 'Fals' }))}\n\n`, () =>
        setTimeout(() => response.destroy(), 50),
      );
    };
    const once = await call(then(cut));
    expect(once).toMatchObject({ text: 'Hi', shown: ['Fals', 'retracted', 'Hi'] });
    expect(once.usage).toMatchObject([{ estimated: true }, { estimated: true }]);
    const twice = await call(then(cut, cut));
    expect(twice).toMatchObject({ text: 'Fals', error: { code: 'model_unavailable' } });
    expect(twice.requests).toHaveLength(2);
  });

  it.each([
    [
      'OpenAI',
      400,
      { message: "This model's maximum context length is 8192 tokens.", code: 'context_length_exceeded' },
    ],
    [
      'llama.cpp',
      400,
      { message: 'the request exceeds the available context size', type: 'exceed_context_size_error' },
    ],
    [
      'Anthropic',
      400,
      { message: 'prompt is too long: 210000 tokens > 200000 maximum', type: 'invalid_request_error' },
    ],
    ['Gemini', 400, { message: 'The input token count (9000) exceeds the maximum number of tokens allowed (8192).' }],
    ['vLLM', 400, { message: "This model's maximum context length is 4096 tokens. However, you requested 5000" }],
    ['a proxy', 413, { message: 'Payload Too Large' }],
  ])('reports that the prompt is too large: %s', async (_name, code, detail) => {
    const { error, requests } = await call(status(code, {}, detail));
    expect(error).toMatchObject({ code: 'model_rejected', contextOverflow: true });
    expect(requests).toHaveLength(1);
  });

  it.each([
    ['stream_options', 'stream_options'],
    [
      'max_tokens',
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    ],
    ['tool_choice', 'Extra inputs are not permitted: tool_choice'],
  ])('is repeated without an optional parameter that the provider rejects: %s', async (name, message) => {
    const { text, requests, waits } = await call((response, { body }) => {
      if (name in body)
        sendError(response, 400, { message: message.includes(' ') ? message : `Unknown field ${message}` });
      else sendChunks(response, answer('Hi'));
    });
    expect({ text, requests: requests.length, waits }).toEqual({ text: 'Hi', requests: 2, waits: [0] });
  });

  it('leaves out the parameters only for the model that rejected them', async () => {
    await using server = await startRawModelServer((response, { body }) => {
      if (body['model'] === 'picky' && 'max_tokens' in body) {
        sendError(response, 400, { message: 'Unsupported parameter: max_tokens. Use max_completion_tokens instead.' });
      } else sendChunks(response, answer('Hi'));
    });
    const adapter = createOpenAiCompatible({ slug: 'openai', baseUrl: server.url, names });
    const port = createModelPort({ adapter, limits: LIMITS });
    for (const model of ['picky', 'picky', 'other']) {
      for await (const _ of port.step({ ...REQUEST, model }, { signal: NEVER }));
    }
    const sent = server.requests.map(({ body }) => [body['model'], body['max_tokens'], body['max_completion_tokens']]);
    expect(sent).toEqual([
      ['picky', 100, undefined],
      ['picky', undefined, 100],
      ['picky', undefined, 100],
      ['other', 100, undefined],
    ]);
  });

  it.each([
    ['content_filter', 'model_refused'],
    ['insufficient_quota', 'model_rejected'],
  ])('is final with a fitting code if the provider reports %s', async (reason, expected) => {
    const code = reason === 'content_filter' ? 400 : 429;
    const { error, requests } = await call(status(code, {}, { message: 'No.', code: reason }));
    expect(error?.code).toBe(expected);
    expect(requests).toHaveLength(1);
  });

  it.each<[string, unknown]>([
    ['OpenRouter', { code: 403, message: 'flagged', metadata: { reasons: ['violence'], flagged_input: 'a knife' } }],
    [
      'OpenRouter, with words of other errors in the prompt',
      { code: 403, message: 'no', metadata: { flagged_input: 'The context length is insufficient_quota' } },
    ],
  ])('reports that a moderation flagged the prompt: %s', async (_name, detail) => {
    const { error, requests } = await call(status(403, {}, detail));
    expect(error).toMatchObject({ code: 'model_refused', message: 'The model declined to answer.' });
    expect(error).toMatchObject({ contextOverflow: false });
    expect(requests).toHaveLength(1);
  });

  it('ends when the time of the step is over, also between attempts', async () => {
    const limits = { firstByteMs: 60_000, betweenBytesMs: 60_000, totalMs: 300 };
    const { error } = await call(
      (response) => {
        startEvents(response);
        setTimeout(() => response.destroy(), 130);
      },
      { limits },
    );
    expect(error?.code).toBe('model_timeout');
  });

  it.each([
    ['the chat completions protocol', { type: 'token_limit_reached', code: 'token_limit_reached', message: 'No.' }],
    ['the Messages protocol', { type: 'token_limit_reached', message: 'No.' }],
  ])('reports that the gateway refuses calls above the monthly limit: %s', async (_name, detail) => {
    const { error, requests } = await call(status(402, {}, detail));
    expect(error).toMatchObject({ code: 'token_limit_reached', budgetReached: false });
    expect(requests).toHaveLength(1);
  });

  it.each([
    ['the chat completions protocol', { type: 'turn_budget_reached', code: 'turn_budget_reached', message: 'No.' }],
    ['the Messages protocol', { type: 'turn_budget_reached', message: 'No.' }],
  ])('reports that the gateway refuses calls above the budget of the turn: %s', async (_name, detail) => {
    const { error, requests } = await call(status(402, {}, detail));
    expect(error).toMatchObject({ budgetReached: true });
    expect(requests).toHaveLength(1);
  });

  it.each<[string, unknown]>([
    ['DeepSeek', { message: 'Insufficient Balance', type: 'unknown_error', code: 'invalid_request_error' }],
    ['OpenRouter', { code: 402, message: 'Insufficient credits.' }],
    ['a text', 'Payment required: token_limit_reached'],
  ])('reports an unpaid account of the operator as an unavailable model: %s', async (_name, detail) => {
    const { error, requests } = await call(status(402, {}, detail));
    expect(error).toMatchObject({ code: 'model_unavailable', message: expect.stringContaining('status 402') });
    expect(requests).toHaveLength(1);
  });

  it('treats an error with status 200 as an error', async () => {
    const { text, requests } = await call(
      then((response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ error: { message: 'busy', code: 503 } }));
      }),
    );
    expect({ text, requests: requests.length }).toEqual({ text: 'Hi', requests: 2 });
  });

  it('never quotes the provider', async () => {
    const { error } = await call(status(401, {}, { message: 'Incorrect API key provided: sk-secret' }));
    expect(error?.message).not.toContain('sk-secret');
  });

  it('is repeated if the server cannot be reached, which counts no tokens', async () => {
    const { url } = await startRawModelServer(() => undefined).then(async (server) => {
      await server[Symbol.asyncDispose]();
      return server;
    });
    const adapter = createOpenAiCompatible({ slug: 'openai', baseUrl: url, names });
    const waits: number[] = [];
    const port = createModelPort({ adapter, limits: LIMITS, wait: (ms) => Promise.resolve(void waits.push(ms)) });
    const events: StepEvent[] = [];
    const run = async (): Promise<void> => {
      for await (const event of port.step(REQUEST, { signal: NEVER })) events.push(event);
    };
    await expect(run()).rejects.toMatchObject({ code: 'model_unavailable' });
    expect({ events, attempts: waits.length + 1 }).toEqual({ events: [], attempts: 6 });
  });

  it.each([
    'UND_ERR_CONNECT_TIMEOUT',
    'ENETUNREACH',
    'CERT_HAS_EXPIRED',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'ERR_SSL_WRONG_VERSION_NUMBER',
  ])('counts no tokens if no connection is established: %s', async (code) => {
    const adapter = createOpenAiCompatible({ slug: 'openai', baseUrl: 'https://model.example', names });
    const fetch = () =>
      Promise.reject(new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) }));
    const port = createModelPort({ adapter, limits: LIMITS, fetch, wait: () => Promise.resolve() });
    const events: StepEvent[] = [];
    const run = async (): Promise<void> => {
      for await (const event of port.step(REQUEST, { signal: NEVER })) events.push(event);
    };
    await expect(run()).rejects.toMatchObject({ code: 'model_unavailable' });
    expect(events).toEqual([]);
  });

  it.each<['openai' | 'anthropic', number]>([
    ['openai', 50],
    // The server reports the prompt's tokens first.
    ['anthropic', 900],
  ])('counts estimated tokens if it is stopped: %s', async (provider, leastPrompt) => {
    const stop = new AbortController();
    const text = 'word '.repeat(40);
    const { error, usage } = await call(
      (response) => {
        startEvents(response);
        const start = {
          type: 'message_start',
          message: { id: 'm', model: 'claude', usage: { input_tokens: 900, output_tokens: 1 } },
        };
        const block = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } };
        const piece = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } };
        const events = provider === 'openai' ? [delta({ content: text })] : [start, block, piece];
        for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`);
      },
      { provider, signal: stop.signal, onText: () => stop.abort(new Error('stopped')) },
    );
    expect(error).toEqual(new Error('stopped'));
    expect(usage).toHaveLength(1);
    expect(usage[0]).toMatchObject({ estimated: true });
    expect(usage[0]?.completionTokens).toBeGreaterThanOrEqual(40);
    expect(usage[0]?.promptTokens).toBeGreaterThanOrEqual(leastPrompt);
  });

  it.each(['openai', 'anthropic'] as const)('times out if the server does not respond: %s', async (provider) => {
    const limits = { firstByteMs: 100, betweenBytesMs: 100, totalMs: 60_000 };
    const { error } = await call(() => undefined, { provider, limits });
    expect(error).toMatchObject({ code: 'model_timeout' });
  });
});
