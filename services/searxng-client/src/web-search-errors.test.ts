import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { type Respond, startFakeSearxng } from '../test/fake-searxng.js';
import { createWebSearch, MAX_RESPONSE_BYTES } from './web-search.js';

const SHORT_MS = 150;

/** Runs one search against a SearXNG with this handler. */
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

describe('a search without a valid endpoint', () => {
  it.each(['', '   '])('TOOL-030: fails with "not configured" for the empty setting %j', async (endpoint) => {
    await expect(createWebSearch({ endpoint }).search({ query: 'x' })).rejects.toMatchObject({
      code: 'not_configured',
      message: expect.stringMatching(/^web_search_tool: searxng endpoint is not configured/),
    });
  });

  it('TOOL-030: explains in the error how to run SearXNG', async () => {
    const search = createWebSearch({ endpoint: '', notConfiguredHint: 'Run `npm run searxng`.' });
    await expect(search.search({ query: 'x' })).rejects.toThrow(
      'web_search_tool: searxng endpoint is not configured. Run `npm run searxng`.',
    );
  });

  it.each(['searxng:8080', 'ftp://searxng', 'nonsense'])('rejects the endpoint %j', async (endpoint) => {
    await expect(createWebSearch({ endpoint }).search({ query: 'x' })).rejects.toMatchObject({
      code: 'invalid_endpoint',
    });
  });
});

describe('an unsuccessful status of SearXNG', () => {
  it.each([
    [302, ' (a redirect, which is not followed)'],
    [400, ''],
    [401, ' (it requires a user name and a password)'],
    [403, ' (the JSON format is disabled: add "json" to search.formats in its settings)'],
    [429, ' (too many requests; try again later)'],
    [500, ''],
    [503, ''],
  ])('TOOL-031: appears in the error: %i', async (status, explanation) => {
    const found = searchAgainst(
      (_, response) => void response.writeHead(status, { location: '/search' }).end('<html>'),
    );
    await expect(found).rejects.toMatchObject({
      code: 'bad_status',
      status,
      message: `web_search_tool: searxng returned status ${status}${explanation}`,
    });
  });

  it('is reported for a redirect, which is not followed', async () => {
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

describe('a SearXNG behind Basic authentication', () => {
  const withCredentials = (endpoint: string): string => endpoint.replace('//', '//us%C3%A9r:hunter2%21@');

  it('receives the credentials of the endpoint', async () => {
    await using searxng = await startFakeSearxng((_, response) => void response.end('{"results":[]}'));
    await createWebSearch({ endpoint: withCredentials(searxng.endpoint) }).search({ query: 'x' });
    const { authorization } = searxng.requests[0]!.headers;
    expect(authorization).toBe(`Basic ${Buffer.from('usér:hunter2!').toString('base64')}`);
  });

  it('receives none if the endpoint has none', async () => {
    await using searxng = await startFakeSearxng((_, response) => void response.end('{"results":[]}'));
    await createWebSearch({ endpoint: searxng.endpoint }).search({ query: 'x' });
    expect(searxng.requests[0]!.headers.authorization).toBeUndefined();
  });

  it('is reported if it rejects the credentials, which the error does not contain', async () => {
    await using searxng = await startFakeSearxng((_, response) => void response.writeHead(401).end());
    const search = createWebSearch({ endpoint: withCredentials(searxng.endpoint) });
    await expect(search.search({ query: 'x' })).rejects.toMatchObject({
      status: 401,
      message: 'web_search_tool: searxng returned status 401 (it rejects the user name or the password)',
    });
  });

  it('does not pass the credentials to the target of a redirect', async () => {
    await using other = await startFakeSearxng((_, response) => void response.end('{"results":[]}'));
    await using searxng = await startFakeSearxng(
      (_, response) => void response.writeHead(307, { location: `${other.endpoint}/search` }).end(),
    );
    const search = createWebSearch({ endpoint: withCredentials(searxng.endpoint) });
    await expect(search.search({ query: 'x' })).rejects.toMatchObject({ status: 307 });
    expect(other.requests).toEqual([]);
  });
});

describe('the deadline of a search', () => {
  const deadlineExceeded = {
    code: 'timeout',
    message: expect.stringMatching(
      /^web_search_tool: GET http:\/\/127\.0\.0\.1:\d+\/search\?q=x&\S+: context deadline exceeded/,
    ),
  };

  it('TOOL-032 TOOL-040: includes the wait for the response', async () => {
    await expect(searchAgainst(() => undefined, SHORT_MS)).rejects.toMatchObject(deadlineExceeded);
  });

  it('TOOL-032 TOOL-040: includes a body that stalls', async () => {
    const half: Respond = (_, response) => void response.writeHead(200, json).write('{"results":[');
    await expect(searchAgainst(half, SHORT_MS)).rejects.toMatchObject(deadlineExceeded);
  });

  it('TOOL-032 TOOL-040: includes a body that never ends', async () => {
    const trickle: Respond = (_, response) => {
      response.writeHead(200, json);
      const timer = setInterval(() => response.write(' '), 10);
      response.once('close', () => clearInterval(timer));
    };
    await expect(searchAgainst(trickle, SHORT_MS)).rejects.toMatchObject(deadlineExceeded);
  });
});

describe('the size limit of a response', () => {
  it('TOOL-041: allows exactly 4 MiB', async () => {
    expect(MAX_RESPONSE_BYTES).toBe(4_194_304);
    const found = searchAgainst((_, response) => void response.writeHead(200, json).end(padded(MAX_RESPONSE_BYTES)));
    await expect(found).resolves.toMatchObject({ status: 'empty' });
  });

  it('TOOL-041: rejects one byte more', async () => {
    const found = searchAgainst(
      (_, response) => void response.writeHead(200, json).end(padded(MAX_RESPONSE_BYTES + 1)),
    );
    await expect(found).rejects.toMatchObject({
      code: 'response_too_large',
      message: 'web_search_tool: searxng sent more than 4194304 bytes',
    });
  });

  it('TOOL-041: rejects an endless response while it arrives, and closes the connection', async () => {
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

describe('an invalid response of SearXNG', () => {
  it('is reported as HTML by its content type', async () => {
    const html = { 'content-type': 'text/html; charset=utf-8' };
    const found = searchAgainst((_, response) => void response.writeHead(200, html).end('hello'));
    await expect(found).rejects.toMatchObject({ code: 'not_json', message: expect.stringContaining('HTML') });
  });

  it('is reported as HTML by its content', async () => {
    const found = searchAgainst((_, response) => void response.writeHead(200).end('\n<!doctype html><p>hi'));
    await expect(found).rejects.toMatchObject({ code: 'not_json' });
  });

  it.each(['', '{"results":[', 'OK'])('has the code malformed_response for malformed JSON: %j', async (body) => {
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

describe('the JSON of Python', () => {
  it.each([
    '{"results":[{"url":"https://a.example/","title":"NaN \\" Infinity","score":NaN,"price":-Infinity}]}',
    '\uFEFF{"results":[{"url":"https://a.example/","title":"NaN \\" Infinity","score":1e999}]}',
  ])('is read: %s', async (body) => {
    const found = searchAgainst((_, response) => void response.writeHead(200, json).end(body));
    await expect(found).resolves.toMatchObject({ results: [{ title: 'NaN " Infinity' }] });
  });
});

describe('a failed connection to SearXNG', () => {
  it('is reported as refused', async () => {
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

  it('is reported as closed before the response was complete', async () => {
    const cut: Respond = (_, response) => {
      response.writeHead(200, { ...json, 'content-length': '100' }).write('{');
      setImmediate(() => response.destroy());
    };
    await expect(searchAgainst(cut)).rejects.toMatchObject({ code: 'unreachable' });
  });

  it('is reported without the credentials of the endpoint', async () => {
    await using searxng = await startFakeSearxng(() => undefined);
    const endpoint = searxng.endpoint.replace('//', '//user:hunter2@');
    const search = createWebSearch({ endpoint, timeoutMs: SHORT_MS });
    await expect(search.search({ query: 'x' })).rejects.toMatchObject({
      message: expect.not.stringContaining('hunter2'),
    });
  });
});
