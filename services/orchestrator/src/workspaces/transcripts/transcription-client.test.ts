import { createServer, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from '@jest/globals';
import { listen, type RunningServer } from '@uswarm/service-kit';
import { createTranscriptionClient, type TranscriptionClient } from './transcription-client.js';

const { signal } = new AbortController();
const json = (response: ServerResponse, status: number, body: unknown, headers = {}) =>
  void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
const refusal = (code: string) => ({ error: { code, message: 'no' } });

describe('the model gateway’s answer to a recording', () => {
  let gateway: RunningServer;
  let client: TranscriptionClient;
  let received: Buffer[] = [];
  afterEach(async () => {
    await client.close();
    await gateway.close(0);
  });

  async function outcome(answer: (response: ServerResponse) => void, { callMs = 60_000, until = signal } = {}) {
    received = [];
    const server = createServer((request, response) => {
      const respond = async (): Promise<void> => {
        received.push(await buffer(request));
        answer(response);
      };
      void respond();
    });
    gateway = await listen(server, { host: '127.0.0.1', port: 0 });
    client = createTranscriptionClient(gateway.url, callMs);
    const content = Readable.from([Buffer.from('Ogg'), Buffer.from('S')], { objectMode: false });
    return client.transcribe({ token: 't', mimeType: 'audio/ogg', size: 4, seconds: 1, content }, until);
  }

  it('is the text', async () => {
    expect(await outcome((response) => json(response, 200, { text: 'Hi' }))).toEqual({ text: 'Hi' });
    expect(received).toEqual([Buffer.from('OggS')]);
  });

  it.each([
    ['recording_refused', 422, 'refused'],
    ['body_too_large', 413, 'too_large'],
    ['token_limit_reached', 402, 'limit'],
    ['turn_not_running', 403, 'unavailable'],
    ['model_not_allowed', 403, 'unavailable'],
    ['provider_credentials_rejected', 502, 'unavailable'],
  ])('is final with the code %s', async (code, status, problem) => {
    expect(await outcome((response) => json(response, status, refusal(code)))).toEqual({ problem });
  });

  it.each<[string, (response: ServerResponse) => void, number | undefined]>([
    ['a limit', (response) => json(response, 429, refusal('rate_limited'), { 'retry-after': '7' }), 7_000],
    ['a limit without a time', (response) => json(response, 429, refusal('rate_limited')), undefined],
    ['a failure', (response) => json(response, 502, refusal('provider_failed')), undefined],
    [
      'an unknown route, as of an earlier release',
      (response) => json(response, 404, refusal('route_not_found')),
      undefined,
    ],
    ['null as text', (response) => json(response, 200, { text: null }), undefined],
    ['a page', (response) => void response.writeHead(200).end('<html>'), undefined],
    [
      'half an answer',
      (response) =>
        void response.writeHead(200, { 'content-length': 99 }).write('{"text":"B', () => response.destroy()),
      undefined,
    ],
    ['a broken connection', (response) => void response.destroy(), undefined],
  ])('leads to a repetition after %s', async (_what, answer, retryAfterMs) => {
    expect(await outcome(answer)).toEqual({ retryAfterMs });
  });

  it('leads to a repetition if it takes too long', async () => {
    expect(await outcome(() => undefined, { callMs: 50 })).toEqual({ retryAfterMs: undefined });
  });

  it('is not waited for after the lease is lost', async () => {
    const lost = new AbortController();
    await expect(outcome(() => lost.abort(new Error('lost')), { until: lost.signal })).rejects.toThrow('lost');
  });
});
