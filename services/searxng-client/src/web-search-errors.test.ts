import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { type Respond, startFakeSearxng } from '../test/fake-searxng.js';
import { createWebSearch, MAX_RESPONSE_BYTES } from './web-search.js';

const SHORT_MS = 150;

/** One search against a SearXNG that answers so. */
async function searchAgainst(respond: Respond, timeoutMs?: number): Promise<unknown> {
  await using searxng = await startFakeSearxng(respond);
  const deps = { endpoint: searxng.endpoint, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
  return await createWebSearch(deps).search({ query: 'x' });
}

const json = { 'content-type': 'application/json' };

/** `{"results":[],"pad":"…"}` of exactly this many bytes. */
function padded(bytes: number): string {
  const [head, tail] = ['{"results":[],"pad":"', '"}'];
  return head + 'a'.repeat(bytes - head.length - tail.length) + tail;
}

describe('an endpoint that is not set up', () => {
  it.each(['', '   '])('TOOL-030: an empty setting (%j) is "not configured"', async (endpoint) => {
    await expect(createWebSearch({ endpoint }).search({ query: 'x' })).rejects.toMatchObject({
      code: 'not_configured',
      message: expect.stringMatching(/^web_search_tool: searxng endpoint is not configured/),
    });
  });

  it('TOOL-030: ends with the sentence on how to get one', async () => {
    const search = createWebSearch({ endpoint: '', notConfiguredHint: 'Run `npm run searxng`.' });
    await expect(search.search({ query: 'x' })).rejects.toThrow(
      'web_search_tool: searxng endpoint is not configured. Run `npm run searxng`.',
    );
  });

  it.each(['searxng:8080', 'ftp://searxng', 'nonsense'])('refuses the endpoint %j', async (endpoint) => {
    await expect(createWebSearch({ endpoint }).search({ query: 'x' })).rejects.toMatchObject({
      code: 'invalid_endpoint',
    });
  });
});

describe('a status that is no success', () => {
  it.each([
    [302, ' (a redirect, which is not followed)'],
    [400, ''],
    [403, ' (the JSON format is off: add "json" to search.formats in its settings)'],
    [429, ' (too many requests; try again later)'],
    [500, ''],
    [503, ''],
  ])('TOOL-031: %i is named in the error', async (status, explanation) => {
    const found = searchAgainst(
      (_, response) => void response.writeHead(status, { location: '/search' }).end('<html>'),
    );
    await expect(found).rejects.toMatchObject({
      code: 'bad_status',
      status,
      message: `web_search_tool: searxng returned status ${status}${explanation}`,
    });
  });

  it('a redirect to another site is not followed', async () => {
    await using other = await startFakeSearxng((_, response) => void response.end('{"results":[]}'));
    await using searxng = await startFakeSearxng(
      (_, response) => void response.writeHead(302, { location: `${other.endpoint}/search?q=x` }).end(),
    );
    await expect(createWebSearch({ endpoint: searxng.endpoint }).search({ query: 'x' })).rejects.toMatchObject({
      status: 302,
    });
    expect(other.requests).toEqual([]);
  });
});

describe('the deadline', () => {
  const deadlineExceeded = {
    code: 'timeout',
    message: expect.stringMatching(
      /^web_search_tool: GET http:\/\/127\.0\.0\.1:\d+\/search\?q=x&\S+: context deadline exceeded/,
    ),
  };

  it('TOOL-032 TOOL-040: covers the wait for the answer', async () => {
    await expect(searchAgainst(() => undefined, SHORT_MS)).rejects.toMatchObject(deadlineExceeded);
  });

  it('TOOL-032 TOOL-040: covers a body that stops half way', async () => {
    const half: Respond = (_, response) => void response.writeHead(200, json).write('{"results":[');
    await expect(searchAgainst(half, SHORT_MS)).rejects.toMatchObject(deadlineExceeded);
  });

  it('TOOL-032 TOOL-040: covers a body that trickles for ever', async () => {
    const trickle: Respond = (_, response) => {
      response.writeHead(200, json);
      const timer = setInterval(() => response.write(' '), 10);
      response.once('close', () => clearInterval(timer));
    };
    await expect(searchAgainst(trickle, SHORT_MS)).rejects.toMatchObject(deadlineExceeded);
  });
});

describe('the size of the answer', () => {
  it('TOOL-041: exactly 4 MiB are read', async () => {
    expect(MAX_RESPONSE_BYTES).toBe(4_194_304);
    const found = searchAgainst((_, response) => void response.writeHead(200, json).end(padded(MAX_RESPONSE_BYTES)));
    await expect(found).resolves.toMatchObject({ status: 'empty' });
  });

  it('TOOL-041: one byte more is refused', async () => {
    const found = searchAgainst(
      (_, response) => void response.writeHead(200, json).end(padded(MAX_RESPONSE_BYTES + 1)),
    );
    await expect(found).rejects.toMatchObject({
      code: 'response_too_large',
      message: 'web_search_tool: searxng sent more than 4194304 bytes',
    });
  });

  it('TOOL-041: an endless answer is refused while it arrives, and the connection dropped', async () => {
    let dropped: Promise<unknown> = Promise.resolve('never asked');
    await using searxng = await startFakeSearxng((_, response) => {
      dropped = once(response, 'close');
      response.writeHead(200, json);
      pour(response);
    });
    await expect(createWebSearch({ endpoint: searxng.endpoint }).search({ query: 'x' })).rejects.toMatchObject({
      code: 'response_too_large',
    });
    await expect(dropped).resolves.toEqual([]);
  });
});

function pour(response: ServerResponse): void {
  while (!response.destroyed && response.write('x'.repeat(65_536)));
  if (!response.destroyed) response.once('drain', () => pour(response));
}

describe('an answer that is not what was asked for', () => {
  it('HTML is recognised by its type', async () => {
    const html = { 'content-type': 'text/html; charset=utf-8' };
    const found = searchAgainst((_, response) => void response.writeHead(200, html).end('hello'));
    await expect(found).rejects.toMatchObject({ code: 'not_json', message: expect.stringContaining('HTML') });
  });

  it('HTML is recognised by its look', async () => {
    const found = searchAgainst((_, response) => void response.writeHead(200).end('\n<!doctype html><p>hi'));
    await expect(found).rejects.toMatchObject({ code: 'not_json' });
  });

  it.each(['', '{"results":[', 'OK'])('malformed JSON (%j) has a code of its own', async (body) => {
    const found = searchAgainst((_, response) => void response.writeHead(200, json).end(body));
    await expect(found).rejects.toMatchObject({ code: 'malformed_response' });
  });

  it.each(['null', '[]', '{}', '{"results":{}}', '{"error":"No query"}'])(
    'JSON without a list of results (%s) is malformed',
    async (body) => {
      const found = searchAgainst((_, response) => void response.writeHead(200, json).end(body));
      await expect(found).rejects.toMatchObject({ code: 'malformed_response' });
    },
  );
});

describe('a connection that fails', () => {
  it('says that it was refused', async () => {
    const probe = createServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const { port } = probe.address() as AddressInfo;
    probe.close();
    await once(probe, 'close');
    await expect(
      createWebSearch({ endpoint: `http://127.0.0.1:${port}` }).search({ query: 'x' }),
    ).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringMatching(/^web_search_tool: GET http:\S+: connection refused$/),
    });
  });

  it('says that it ended before the answer was complete', async () => {
    const cut: Respond = (_, response) => {
      response.writeHead(200, { ...json, 'content-length': '100' }).write('{');
      setImmediate(() => response.destroy());
    };
    await expect(searchAgainst(cut)).rejects.toMatchObject({ code: 'unreachable' });
  });

  it('does not show credentials that stand in the endpoint', async () => {
    await using searxng = await startFakeSearxng(() => undefined);
    const endpoint = searxng.endpoint.replace('//', '//user:hunter2@');
    const search = createWebSearch({ endpoint, timeoutMs: SHORT_MS });
    await expect(search.search({ query: 'x' })).rejects.toMatchObject({
      message: expect.not.stringContaining('hunter2'),
    });
  });
});
