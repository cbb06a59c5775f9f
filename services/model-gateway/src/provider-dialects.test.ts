import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
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
import { startTestGateway, type TestGateway } from '../test/test-gateway.js';

const CHAT = { model: 'flash', stream: true, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 100 };
const MESSAGE = { ...CHAT, model: 'sonnet' };
const JSON_TYPE = { 'content-type': 'application/json' };

let provider: ProviderServer;
let gateway: TestGateway;
let respond: Respond;
beforeEach(async () => {
  provider = await startProviderServer(() => respond);
  gateway = await startTestGateway({ provider: provider.url });
});
afterEach(async () => {
  await gateway.close();
  await provider.close();
});

const settled = () => [...gateway.settled.values()];

/** The usage that is settled for a response with this content type. */
async function usageOf(contentType: string | undefined, body: string, call = () => gateway.openai(CHAT)) {
  const headers: Record<string, string> = contentType === undefined ? {} : { 'content-type': contentType };
  respond = (response) => void response.writeHead(200, headers).end(body);
  expect(await (await call()).text()).toBe(body);
  return settled().at(-1);
}

describe('the usage of a response', () => {
  const reported = { prompt_tokens: 40, completion_tokens: 6, estimated: false };

  it.each(['text/plain', 'application/json', undefined])(
    'is read from a stream whose content type is %s',
    async (contentType) => {
      const chunks = `${sse(delta('Hello you'), delta('', 'stop'), usageChunk(40, 6))}data: [DONE]\n\n`;
      expect(await usageOf(contentType, chunks)).toMatchObject(reported);
      expect(await usageOf(contentType, `\n\n: comment\n\n${chunks}`)).toMatchObject(reported);
      const messages = sse(
        { type: 'message_start', message: { usage: { input_tokens: 40, output_tokens: 1 } } },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 6 } },
      );
      expect(await usageOf(contentType, messages, () => gateway.anthropic(MESSAGE))).toMatchObject(reported);
    },
  );

  it('is read from a document that has the content type of a stream', async () => {
    const document = {
      choices: [{ index: 0, message: { content: 'Hello you' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 40, completion_tokens: 6 },
    };
    expect(await usageOf('text/event-stream', JSON.stringify(document, null, 2))).toMatchObject(reported);
    expect(await usageOf('text/event-stream', `\n ${JSON.stringify(document)}`)).toMatchObject(reported);
  });

  it('is complete if it follows the finish reason in a chunk with an empty choice', async () => {
    const empty = { index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null };
    const chunks = sse(delta('Hello you'), delta('', 'stop'), { ...usageChunk(40, 6), choices: [empty] });
    expect(await usageOf(STREAM['content-type'], chunks)).toMatchObject(reported);
  });

  it('keeps the cached part of a prompt that the end of a message counts again', async () => {
    const messages = sse(
      {
        type: 'message_start',
        message: { usage: { input_tokens: 10, cache_read_input_tokens: 30, output_tokens: 1 } },
      },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { input_tokens: 10, output_tokens: 6 } },
    );
    expect(await usageOf('text/event-stream', messages, () => gateway.anthropic(MESSAGE))).toMatchObject({
      ...reported,
      cached_tokens: 30,
    });
  });
});

describe('a server that refuses the request for usage', () => {
  const answer = streamed(delta('Hello you', 'stop'), usageChunk(40, 6));
  const refusal =
    (status: number): Respond =>
    (response) =>
      void response
        .writeHead(status, JSON_TYPE)
        .end('{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}');

  it('gets the call again without it, if it refuses it with status 422', async () => {
    respond = (response, request) => ('stream_options' in request.body ? refusal(422) : answer)(response, request);
    const response = await gateway.openai(CHAT);
    expect(response.status).toBe(200);
    await response.text();
  });

  it.each([400, 422])(
    'gets the request for usage again if it refused the call for another reason: %d',
    async (status) => {
      const strange = { include_usage: false, unknown: true };
      respond = (response, request) => {
        const isStrange = JSON.stringify(request.body).includes('unknown');
        return (isStrange ? refusal(status) : answer)(response, request);
      };
      const refused = await gateway.openai({ ...CHAT, stream_options: strange });
      expect(refused.status).toBe(status);
      expect(await refused.text()).toContain('stream_options');
      await (await gateway.openai(CHAT)).text();
      expect(provider.requests.at(-1)?.body['stream_options']).toEqual({ include_usage: true });
      expect(settled().map(({ outcome, estimated }) => ({ outcome, estimated }))).toEqual([
        { outcome: 'refused', estimated: false },
        { outcome: 'completed', estimated: false },
      ]);
    },
  );
});
