import { afterEach, describe, expect, it } from '@jest/globals';
import { RECORDING_BYTES, RECORDING_SECONDS_HEADER, TRANSCRIPTIONS_PATH } from '@uswarm/contract';
import { type ModelServer, startModelServer, type TranscriptionAnswer } from '@uswarm/dev-servers';
import { parseSigningKey, signModelToken } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { PROVIDER_KEY, startTestGateway, type TestGateway, TOKEN_KEY, TURN } from '../../test/test-gateway.js';
import { GatewayError } from '../gateway-error.js';

const OGG = Buffer.from('OggS: what a phone records');
const SPOKEN = { text: 'Buy green tea.', usage: { type: 'duration', seconds: 12 } };

let gateway: TestGateway;
let model: ModelServer;
afterEach(async () => {
  await gateway.close();
  await model.close();
});

interface Setup {
  answer?: TranscriptionAnswer | undefined;
  environment?: Record<string, string>;
  refuse?: GatewayError;
}

async function start({ answer = SPOKEN, environment = { TRANSCRIPTION_MODEL: 'whisper-1' }, refuse }: Setup = {}) {
  model = await startModelServer({ script: () => [], transcribe: () => answer });
  gateway = await startTestGateway({
    provider: new URL(model.baseUrl).origin,
    environment,
    onReserve: () => {
      if (refuse !== undefined) throw refuse;
    },
  });
}

interface Sent {
  type?: string;
  body?: Buffer;
  purpose?: 'turn' | 'transcription';
  signal?: AbortSignal;
}

async function send({ type = 'audio/ogg', body = OGG, purpose = 'transcription', signal }: Sent = {}) {
  const token = await signModelToken(parseSigningKey(TOKEN_KEY), { ...TURN, purpose });
  const response = await fetch(`${gateway.url}${TRANSCRIPTIONS_PATH}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': type, [RECORDING_SECONDS_HEADER]: '10' },
    body: new Uint8Array(body),
    ...(signal === undefined ? {} : { signal }),
  });
  const answer = (await response.json()) as { text?: string; error?: { code: string } };
  return {
    status: response.status,
    text: answer.text,
    code: answer.error?.code,
    retryAfter: response.headers.get('retry-after'),
  };
}

const usage = () => [...gateway.settled.values()];

describe('a recording', () => {
  it('is sent to the provider as a form, with its key and model, and without the name of the user’s file', async () => {
    await start();
    expect(await send()).toMatchObject({ status: 200, text: 'Buy green tea.' });
    expect(model.transcriptions).toEqual([
      {
        model: 'whisper-1',
        file: { name: 'recording.ogg', type: 'audio/ogg', bytes: new Uint8Array(OGG) },
        fields: { model: 'whisper-1', response_format: 'json' },
        authorization: `Bearer ${PROVIDER_KEY}`,
      },
    ]);
  });

  it.each([
    ['audio/x-m4a', '\0\0\0\x1cftypM4A ', 'recording.m4a', 'audio/mp4'],
    ['audio/mpeg', 'ID3\x04', 'recording.mp3', 'audio/mpeg'],
    ['audio/ogg; codecs=opus', 'OggS', 'recording.ogg', 'audio/ogg'],
    ['audio/wav', 'RIFF\0\0\0\0WAVE', 'recording.wav', 'audio/wav'],
    ['audio/webm', '\x1aE\xdf\xa3', 'recording.webm', 'audio/webm'],
    ['audio/x-flac', 'fLaC', 'recording.flac', 'audio/flac'],
  ])('has the extension and the type that servers know for %s', async (type, head, name, sentType) => {
    await start();
    expect(await send({ type, body: Buffer.from(head, 'latin1') })).toMatchObject({ status: 200 });
    expect(model.transcriptions[0]?.file).toMatchObject({ name, type: sentType });
  });

  it('is reserved with its stated length, and settled with what the provider reports', async () => {
    await start();
    await send();
    expect(gateway.reserved).toMatchObject([
      {
        purpose: 'transcription',
        provider: 'openai',
        model: 'whisper-1',
        estimated_prompt_tokens: 100,
        max_output_tokens: 100,
      },
    ]);
    expect(usage()).toMatchObject([{ prompt_tokens: 120, estimated: false, outcome: 'completed' }]);
  });

  it.each([
    ['tokens', { type: 'tokens', input_tokens: 44, output_tokens: 9 }, { prompt_tokens: 44, completion_tokens: 9 }],
    [
      'seconds and tokens, as Mistral does',
      { prompt_audio_seconds: 7, prompt_tokens: 4, completion_tokens: 9 },
      { prompt_tokens: 70, completion_tokens: 9 },
    ],
    ['nothing, as Groq does', undefined, { prompt_tokens: 100, estimated: true }],
    ['null', null, { prompt_tokens: 100, estimated: true }],
  ])('is charged if the provider reports %s', async (_what, reported, expected) => {
    await start({ answer: { body: JSON.stringify({ text: 'Hi', usage: reported, x_groq: { id: '1' } }) } });
    expect(await send()).toMatchObject({ status: 200, text: 'Hi' });
    expect(usage()).toMatchObject([expected]);
  });

  it('is charged for its text if it states a shorter length than it has', async () => {
    await start({ answer: { text: 'word '.repeat(5_000) } });
    await send();
    expect(usage()).toMatchObject([{ prompt_tokens: 10_000, estimated: true }]);
  });

  it('has an empty text without speech', async () => {
    await start({ answer: { text: '' } });
    expect(await send()).toMatchObject({ status: 200, text: '' });
  });

  it.each<[string, TranscriptionAnswer, object]>([
    [
      'a limit',
      { error: { status: 429, headers: { 'retry-after': '7' } } },
      { status: 429, code: 'rate_limited', retryAfter: '7' },
    ],
    ['a failure', { error: { status: 503 } }, { status: 502, code: 'provider_failed' }],
    ['an unknown format', { error: { status: 400 } }, { status: 422, code: 'recording_refused' }],
    ['a wrong key', { error: { status: 401 } }, { status: 502, code: 'provider_credentials_rejected' }],
    ['an unknown model', { error: { status: 404 } }, { status: 502, code: 'provider_failed' }],
    ['a redirect', { status: 302, body: '' }, { status: 502, code: 'provider_redirected' }],
    [
      'the page of a proxy',
      { body: '<html>Sign in</html>', type: 'text/html' },
      { status: 502, code: 'provider_failed' },
    ],
    ['a JSON list', { body: '[]' }, { status: 502, code: 'provider_failed' }],
  ])('costs nothing if the provider answers with %s', async (_what, answer, expected) => {
    await start({ answer });
    expect(await send()).toMatchObject(expected);
    expect(usage()).toMatchObject([{ prompt_tokens: 0, outcome: 'refused' }]);
  });

  it.each<[string, TranscriptionAnswer]>([
    ['null as text', { body: '{"text":null}' }],
    ['an error with the status 200', { body: '{"error":{"message":"busy"}}' }],
  ])('has no text, but may have cost something, if the provider answers with %s', async (_what, answer) => {
    await start({ answer });
    expect(await send()).toMatchObject({ status: 502, code: 'provider_failed', text: undefined });
    expect(usage()).toMatchObject([{ prompt_tokens: 100, estimated: true }]);
  });

  it('may have cost something if the answer is cut', async () => {
    await start({ answer: { cut: '{"text":"Buy gr' } });
    expect(await send()).toMatchObject({ status: 502, code: 'provider_unreachable' });
    expect(usage()).toMatchObject([{ prompt_tokens: 100, estimated: true, outcome: 'cut' }]);
  });

  it('may have cost something if the orchestrator stops waiting', async () => {
    await start({ answer: { hang: true } });
    const stop = new AbortController();
    const sending = send({ signal: stop.signal });
    await eventually(() => model.transcriptions.length, { until: (count) => count === 1 });
    stop.abort();
    await expect(sending).rejects.toThrow();
    await eventually(usage, { until: (settled) => settled.length === 1 });
    expect(usage()).toMatchObject([{ prompt_tokens: 100, outcome: 'cut' }]);
  });

  it('is not sent if the workspace has no tokens left', async () => {
    await start({ refuse: new GatewayError('token_limit_reached', 'no tokens') });
    expect(await send()).toMatchObject({ status: 402, code: 'token_limit_reached' });
    expect(model.transcriptions).toEqual([]);
  });

  it('is not sent if it is larger than OpenAI allows', async () => {
    await start();
    expect(await send({ body: Buffer.alloc(RECORDING_BYTES + 1) })).toMatchObject({
      status: 413,
      code: 'body_too_large',
    });
    expect(gateway.reserved).toEqual([]);
  });

  it('is not accepted from a runtime, whose token is for a turn', async () => {
    await start();
    expect(await send({ purpose: 'turn' })).toMatchObject({ status: 401, code: 'token_invalid' });
  });

  it('is refused without a model for it', async () => {
    await start({ environment: {} });
    expect(await send()).toMatchObject({ status: 403, code: 'model_not_allowed' });
  });
});

it('a chat call is not accepted with the token for a recording', async () => {
  await start();
  const token = await signModelToken(parseSigningKey(TOKEN_KEY), { ...TURN, purpose: 'transcription' });
  const { status } = await gateway.openai({}, { headers: { authorization: `Bearer ${token}` } });
  expect(status).toBe(401);
});
