import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import {
  cacheFolder,
  type RunningSearxng,
  type SearchUpstream,
  startSearchUpstream,
  startSearxng,
  type UpstreamResult,
} from '@uswarm/dev-servers';
import { describeWith } from '@uswarm/testkit';
import fc from 'fast-check';
import type { SearchOutcome } from './outcome.js';
import { plainQuery } from './plain-query.js';
import { createWebSearch } from './web-search.js';

const directory = join(cacheFolder(), 'searxng');

const page = (name: string, content = `About ${name}`): UpstreamResult => ({
  title: `Title ${name}`,
  url: `https://example.com/${name}`,
  content,
});

describeWith('searxng', 'the tool against a real SearXNG', () => {
  let alpha: SearchUpstream;
  let beta: SearchUpstream;
  let searxng: RunningSearxng;

  beforeAll(async () => {
    await mkdir(directory, { recursive: true });
    [alpha, beta] = [await startSearchUpstream(), await startSearchUpstream()];
    searxng = await startSearxng({
      directory,
      logFile: join(directory, 'test.log'),
      engines: [
        { name: 'alpha', searchUrl: alpha.searchUrl, timeoutSeconds: 5 },
        { name: 'beta', searchUrl: beta.searchUrl, timeoutSeconds: 5 },
      ],
    });
    // The first search takes longer, because SearXNG creates its HTTP clients then.
    while ((await search('warm')).unresponsive_engines.length > 0);
  });

  afterAll(async () => {
    await searxng?.close();
    await Promise.all([alpha?.close(), beta?.close()]);
  });

  beforeEach(() => {
    alpha.respondWith(() => ({ results: [page('a'), page('shared')] }));
    beta.respondWith(() => ({ results: [page('shared'), page('b')] }));
    alpha.queries.length = 0;
    beta.queries.length = 0;
  });

  const search = (query: string): Promise<SearchOutcome> =>
    createWebSearch({ endpoint: searxng.endpoint }).search({ query });
  const received = () => ({ alpha: alpha.queries, beta: beta.queries });
  const titles = ({ results }: SearchOutcome): string[] => results.map(({ title }) => title);

  it('SEARX-004 TOOL-050: sends one query to all engines and merges their results', async () => {
    const outcome = await search('green tea');
    expect(received()).toEqual({ alpha: ['green tea'], beta: ['green tea'] });
    expect(outcome).toMatchObject({ status: 'ok', unresponsive_engines: [], notes: [] });
    expect(titles(outcome).toSorted()).toEqual(['Title a', 'Title b', 'Title shared']);
  });

  it('TOOL-050: ranks a result of two engines first, once', async () => {
    expect(titles(await search('tea'))[0]).toBe('Title shared');
  });

  it('TOOL-001 TOOL-051: returns title, url, excerpt and engine without a key', async () => {
    beta.respondWith(() => ({ results: [] }));
    alpha.respondWith(() => ({ results: [page('a')] }));
    expect((await search('tea')).results).toEqual([
      { title: 'Title a', url: 'https://example.com/a', snippet: 'About a', engine: 'alpha' },
    ]);
  });

  it('TOOL-033: returns an empty outcome if no engine finds anything', async () => {
    for (const engine of [alpha, beta]) engine.respondWith(() => ({ results: [] }));
    expect(await search('tea')).toEqual({ status: 'empty', results: [], unresponsive_engines: [], notes: [] });
  });

  it('TOOL-050: returns a partial outcome if one engine fails', async () => {
    beta.respondWith(() => ({ status: 500 }));
    const outcome = await search('tea');
    expect(outcome).toMatchObject({ status: 'partial', unresponsive_engines: [{ engine: 'beta' }] });
    expect(titles(outcome)).toEqual(['Title a', 'Title shared']);
  });

  it('TOOL-050: does not wait for an engine that exceeds its timeout', async () => {
    beta.respondWith(() => 'hang');
    const outcome = await search('tea');
    expect(outcome).toMatchObject({
      status: 'partial',
      unresponsive_engines: [{ engine: 'beta', reason: 'timeout' }],
    });
    expect(titles(outcome)).toEqual(['Title a', 'Title shared']);
  });

  it('TOOL-033: returns an inconclusive outcome, not an empty one, if all engines fail', async () => {
    for (const engine of [alpha, beta]) engine.respondWith(() => ({ status: 503 }));
    const outcome = await search('tea');
    expect(outcome).toMatchObject({ status: 'upstream_failed', results: [] });
    expect(outcome.unresponsive_engines.map(({ engine }) => engine)).toEqual(['alpha', 'beta']);
  });

  it('TOOL-010: sends a bang as text, so that it does not select an engine', async () => {
    // SearXNG itself would query only alpha.
    const raw = await fetch(`${searxng.endpoint}/search?format=json&q=${encodeURIComponent('!alpha tea')}`);
    expect({ status: raw.status, ...received() }).toEqual({ status: 200, alpha: ['tea'], beta: [] });
    await search('!alpha tea');
    expect(received()).toEqual({ alpha: ['tea', 'alpha tea'], beta: ['alpha tea'] });
  });

  it('TOOL-010: searches for a redirecting bang instead of following it', async () => {
    await expect(search('!!g tea !!')).resolves.toMatchObject({ status: 'ok' });
    expect(alpha.queries).toEqual(['g tea']);
  });

  /** The query that SearXNG sends to engines, without commands; undefined after an error. */
  async function searchedFor(query: string): Promise<unknown> {
    const parameters = new URLSearchParams({ q: query, format: 'json', language: 'en' });
    const response = await fetch(`${searxng.endpoint}/search?${parameters}`, { redirect: 'manual' });
    return ((await response.json()) as { query?: unknown }).query;
  }

  it.each(['!alpha tea', '!general tea', ':de tea', ':english tea', '<3 tea', '<850 tea', '<² tea', 'tea !!'])(
    'TOOL-010: makes plain text of %j, which SearXNG reads as a command',
    async (query) => {
      expect(await searchedFor(query)).not.toBe(query);
      expect(await searchedFor(plainQuery(query))).toBe(plainQuery(query));
    },
  );

  it('TOOL-010: makes plain queries in which SearXNG finds no command', async () => {
    for (const engine of [alpha, beta]) engine.respondWith(() => ({ results: [] }));
    const mark = fc.constantFrom('!', '!!', ':', '<');
    const argument = fc.constantFrom(
      'alpha',
      'beta',
      'general',
      'g',
      'de',
      'en-US',
      'english',
      'auto',
      '日本語',
      '3',
      '²',
      '٣',
    );
    const space = fc.constantFrom(' ', '\t', '\u001c', '\u0085', '\u00a0', '\u3000', '\u200b');
    const part = fc.oneof(mark, argument, space, fc.string({ unit: 'binary', maxLength: 5 }));
    const plain = fc
      .array(part, { minLength: 1, maxLength: 10 })
      .map((parts) => plainQuery(parts.join('')))
      .filter((query) => query !== '');
    await fc.assert(
      fc.asyncProperty(plain, async (query) => {
        expect(await searchedFor(query)).toBe(query);
      }),
      { numRuns: 400 },
    );
  });
});
