import { type AddressInfo, createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { estimatePromptTokens, MAX_MODEL_REQUEST_BYTES, MAX_TURN_IMAGE_BYTES } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import {
  delta,
  type ProviderServer,
  type Respond,
  sse,
  startProviderServer,
  STREAM,
  streamed,
} from '../test/provider-server.js';
import { startTestGateway, type TestGateway } from '../test/test-gateway.js';
import { createRequestMemory } from './request-memory.js';

const MIB = 1024 * 1024;
const ANSWER = streamed(delta('Hi', 'stop'));

let provider: ProviderServer;
let gateway: TestGateway;
let respond: Respond;
beforeEach(async () => {
  respond = ANSWER;
  provider = await startProviderServer(() => respond);
  gateway = await startTestGateway({ provider: provider.url });
});
afterEach(async () => {
  await gateway.close();
  await provider.close();
});

const chat = (content: unknown) => ({
  model: 'flash',
  stream: true,
  messages: [{ role: 'user', content }],
  max_tokens: 100,
});
const withImages = (bytes: number) => {
  const url = `data:image/png;base64,${'A'.repeat(bytes / 4)}`;
  return chat(Array.from({ length: 4 }, () => ({ type: 'image_url', image_url: { url } })));
};

describe('a large request', () => {
  it('reaches the provider if it has all images that a turn can have', async () => {
    const response = await gateway.openai(withImages(MAX_TURN_IMAGE_BYTES));
    expect(response.status).toBe(200);
    await response.text();
    expect(JSON.stringify(provider.requests[0]?.body).length).toBeGreaterThan(MAX_TURN_IMAGE_BYTES);
  });

  it('reserves a constant number of tokens for each image', async () => {
    await (await gateway.openai(withImages(MAX_TURN_IMAGE_BYTES))).text();
    const { messages } = withImages(0);
    await (await gateway.anthropic({ ...chat('x'.repeat(3 * MIB)), model: 'sonnet' })).text();
    const [images, text] = gateway.reserved.map(({ estimated_prompt_tokens: tokens }) => tokens);
    expect(images).toBeGreaterThan(4 * 3_000);
    expect(images).toBeLessThan(4 * 3_000 + JSON.stringify(messages).length);
    expect(text).toBeGreaterThan(MIB);
  });

  it('is estimated without the data of its images if it is cut', async () => {
    respond = (response) => void response.writeHead(200, STREAM).write(sse(delta('Hi')));
    const abort = new AbortController();
    await gateway.openai(withImages(MAX_TURN_IMAGE_BYTES), { signal: abort.signal });
    abort.abort();
    await eventually(() => gateway.settled.size, { until: (size) => size === 1 });
    const body = JSON.stringify(provider.requests[0]?.body);
    const [usage] = gateway.settled.values();
    expect(usage).toMatchObject({ outcome: 'cut', estimated: true });
    expect(Math.abs((usage?.prompt_tokens ?? 0) - estimatePromptTokens(body))).toBeLessThan(50);
  });

  it('is refused with 429 until another one of its workspace has been sent, and small ones are not', async () => {
    const reached = Promise.withResolvers<void>();
    const begin = Promise.withResolvers<void>();
    respond = async (response, request) => {
      reached.resolve();
      await begin.promise;
      await ANSWER(response, request);
    };
    const large = withImages(MAX_TURN_IMAGE_BYTES);
    const first = gateway.openai(large);
    await reached.promise;
    const refused = await gateway.openai(large);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refused.json()).toMatchObject({ error: { code: 'rate_limited' } });
    respond = ANSWER;
    await (await gateway.openai(chat('x'.repeat(1_000)))).text();
    respond = (response) => void response.writeHead(200, STREAM).write(sse(delta('Hi')));
    begin.resolve();
    await (await first).text();
    const abort = new AbortController();
    const running = await gateway.openai(large, { signal: abort.signal });
    expect({ status: running.status, next: (await gateway.openai(large, { signal: abort.signal })).status }).toEqual({
      status: 200,
      next: 200,
    });
    abort.abort();
  });

  it('is free again after a failure', async () => {
    await provider.close();
    for (let at = 0; at < 3; at += 1) {
      const response = await gateway.openai(withImages(MAX_TURN_IMAGE_BYTES));
      expect(await response.json()).toMatchObject({ error: { code: 'provider_unreachable' } });
    }
  });

  it('is cut if the provider ends the connection before it has read the request', async () => {
    const broken = createServer((socket) => socket.once('data', () => socket.destroy()));
    await new Promise<void>((resolve) => broken.listen(0, '127.0.0.1', resolve));
    const other = await startTestGateway({ provider: `http://127.0.0.1:${(broken.address() as AddressInfo).port}` });
    try {
      const response = await other.openai(withImages(MAX_TURN_IMAGE_BYTES));
      expect(response.status).toBe(502);
      expect([...other.settled.values()]).toMatchObject([{ outcome: 'cut' }]);
    } finally {
      await other.close();
      broken.close();
    }
  });
});

describe('the memory for large requests', () => {
  const largest = MAX_MODEL_REQUEST_BYTES;
  const refusal = expect.objectContaining({ code: 'rate_limited', retryAfterS: expect.any(Number) });
  const refused = (hold: () => unknown): unknown => {
    try {
      return hold();
    } catch (error) {
      return error;
    }
  };

  it('is shared by all workspaces, and one workspace gets at most half of it', () => {
    const memory = createRequestMemory();
    const frees = ['a', 'b'].map((workspace) => memory.hold(workspace, largest));
    for (const workspace of ['a', 'c']) expect(refused(() => memory.hold(workspace, 2 * MIB))).toEqual(refusal);
    frees[1]?.();
    expect(refused(() => memory.hold('a', 2 * MIB))).toEqual(refusal);
    memory.hold('c', largest);
    frees[0]?.();
    memory.hold('a', largest);
    expect(refused(() => memory.hold('a', 2 * MIB))).toEqual(refusal);
  });

  it('is not needed by small requests', () => {
    const memory = createRequestMemory();
    for (const workspace of ['0', '1']) memory.hold(workspace, largest);
    for (let at = 0; at < 1_000; at += 1) memory.hold('0', MIB);
    expect(refused(() => memory.hold('0', MIB + 1))).toEqual(refusal);
  });
});
