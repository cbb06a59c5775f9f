import { describe, expect, it, jest } from '@jest/globals';
import { answerJson, row, startFakeSearxng } from '../test/fake-searxng.js';
import { createWebSearch } from './web-search.js';

const nothing = answerJson({ results: [] });
const rows = (count: number) => Array.from({ length: count }, (_, index) => row(`r${index}`));

describe('the request to SearXNG', () => {
  it('TOOL-010 TOOL-011 TOOL-012 TOOL-013: is a GET of /search with q, format=json, safesearch=0 and language=en', async () => {
    await using searxng = await startFakeSearxng(nothing);
    await createWebSearch({ endpoint: searxng.endpoint }).search({ query: 'blue & green = ?' });
    const [request] = searxng.requests;
    expect(request?.method).toBe('GET');
    expect(request?.url.pathname).toBe('/search');
    expect(Object.fromEntries(request?.url.searchParams ?? [])).toEqual({
      q: 'blue & green = ?',
      format: 'json',
      safesearch: '0',
      language: 'en',
    });
  });

  it('TOOL-014 TOOL-015: has Accept: application/json and a User-Agent', async () => {
    await using searxng = await startFakeSearxng(nothing);
    await createWebSearch({ endpoint: searxng.endpoint }).search({ query: 'x' });
    expect(searxng.requests[0]?.headers).toMatchObject({
      accept: 'application/json',
      'user-agent': expect.stringMatching(/^uswarm-web-search\/[\d.]+ \(web_search_tool\)$/),
    });
  });

  it('TOOL-051: has no key and no cookie', async () => {
    await using searxng = await startFakeSearxng(nothing);
    await createWebSearch({ endpoint: searxng.endpoint }).search({ query: 'x' });
    const { headers } = searxng.requests[0] ?? { headers: {} };
    expect(Object.keys(headers).toSorted()).toEqual(['accept', 'accept-encoding', 'connection', 'host', 'user-agent']);
  });

  it('keeps the path of the endpoint, with or without a trailing slash', async () => {
    await using searxng = await startFakeSearxng(nothing);
    await createWebSearch({ endpoint: `${searxng.endpoint}/engine/` }).search({ query: 'x' });
    expect(searxng.requests[0]?.url.pathname).toBe('/engine/search');
  });

  it('TOOL-010: contains commands as plain text', async () => {
    await using searxng = await startFakeSearxng(nothing);
    await createWebSearch({ endpoint: searxng.endpoint }).search({ query: '!!g :de <3 tea' });
    expect(searxng.requests[0]?.url.searchParams.get('q')).toBe('g de < 3 tea');
  });
});

describe('the arguments of a search', () => {
  const search = createWebSearch({ endpoint: 'http://127.0.0.1:9' });

  it.each([undefined, null, '', ' \t\n', 7, ['x']])('TOOL-020: are rejected with the query %j', async (query) => {
    await expect(search.search({ query })).rejects.toMatchObject({
      code: 'invalid_argument',
      message: 'web_search_tool: query must be a non-empty text',
    });
  });

  it('TOOL-020: are rejected if the query contains only commands', async () => {
    await expect(search.search({ query: '!! !!!' })).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  it('may contain a query of at most 400 characters', async () => {
    await expect(search.search({ query: '😀'.repeat(401) })).rejects.toMatchObject({ code: 'invalid_argument' });
    await using searxng = await startFakeSearxng(nothing);
    const outcome = await createWebSearch({ endpoint: searxng.endpoint }).search({ query: '😀'.repeat(400) });
    expect(outcome.status).toBe('empty');
  });

  it.each([0, -1, 2.5, '5', Number.NaN, Number.POSITIVE_INFINITY])(
    'TOOL-021 TOOL-042: are rejected with max_results %p',
    async (max_results) => {
      await expect(search.search({ query: 'x', max_results })).rejects.toMatchObject({
        code: 'invalid_argument',
        message: 'web_search_tool: max_results must be a whole number from 1 to 15',
      });
    },
  );

  it.each([
    [undefined, 5],
    [null, 5],
    [1, 1],
    [5, 5],
    [15, 15],
    [16, 15],
    [1_000, 15],
  ])(
    'TOOL-021 TOOL-022 TOOL-042: limit the rows: max_results %p selects the first %p of 20',
    async (max_results, count) => {
      await using searxng = await startFakeSearxng(answerJson({ results: rows(20) }));
      const { results } = await createWebSearch({ endpoint: searxng.endpoint }).search({ query: 'x', max_results });
      expect(results.map(({ title }) => title)).toEqual(rows(count).map(({ title }) => title));
    },
  );

  it('cause a note if max_results was lowered', async () => {
    await using searxng = await startFakeSearxng(answerJson({ results: rows(1) }));
    const { notes } = await createWebSearch({ endpoint: searxng.endpoint }).search({ query: 'x', max_results: 99 });
    expect(notes).toEqual(['max_results was lowered to the maximum, 15.']);
  });
});

describe('the outcome of a search', () => {
  it('TOOL-001 TOOL-022: contains title, url, content as snippet, and engine, after one request', async () => {
    await using searxng = await startFakeSearxng(answerJson({ results: [row('tea')] }));
    const outcome = await createWebSearch({ endpoint: searxng.endpoint }).search({ query: 'tea' });
    expect(searxng.requests).toHaveLength(1);
    expect(outcome).toEqual({
      status: 'ok',
      results: [{ title: 'Title tea', url: 'https://example.com/tea', snippet: 'About tea', engine: 'alpha' }],
      unresponsive_engines: [],
      notes: [],
    });
  });

  it('TOOL-033: contains an empty array if the engines return nothing', async () => {
    await using searxng = await startFakeSearxng(nothing);
    const outcome = await createWebSearch({ endpoint: searxng.endpoint }).search({ query: 'x' });
    expect(outcome).toEqual({ status: 'empty', results: [], unresponsive_engines: [], notes: [] });
  });
});

describe('a cancelled search', () => {
  it('has the code cancelled, not timeout', async () => {
    const controller = new AbortController();
    await using searxng = await startFakeSearxng(() => controller.abort());
    const search = createWebSearch({ endpoint: searxng.endpoint });
    await expect(search.search({ query: 'x' }, { signal: controller.signal })).rejects.toMatchObject({
      code: 'cancelled',
    });
  });
});

describe('the default limits', () => {
  it('TOOL-040: give a search 10 seconds', async () => {
    const timeout = jest.spyOn(globalThis, 'setTimeout');
    await using searxng = await startFakeSearxng(nothing);
    await createWebSearch({ endpoint: searxng.endpoint }).search({ query: 'x' });
    expect(timeout.mock.calls.map(([, ms]) => ms)).toContain(10_000);
    timeout.mockRestore();
  });
});
