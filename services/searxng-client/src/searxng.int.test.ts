import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import {
  describeWith,
  type RunningSearxng,
  type SearchUpstream,
  startSearchUpstream,
  startSearxng,
  type UpstreamResult,
} from '@uswarm/testkit';
import fc from 'fast-check';
import type { SearchOutcome } from './outcome.js';
import { plainQuery } from './plain-query.js';
import { createWebSearch } from './web-search.js';

const cache = process.env['USWARM_TEST_CACHE'] ?? join(import.meta.dirname, '../../../.cache');
const directory = join(cache, 'searxng');

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
    // The first one takes longer: what it asks engines with is made then.
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
  const titles = ({ results }: SearchOutcome): string[] => results.map(({ title }) => title);

  it('SEARX-004 TOOL-050: one query goes to every engine, and their results come back merged', async () => {
    const outcome = await search('green tea');
    expect([alpha.queries, beta.queries]).toEqual([['green tea'], ['green tea']]);
    expect(outcome).toMatchObject({ status: 'ok', unresponsive_engines: [], notes: [] });
    expect(titles(outcome).toSorted()).toEqual(['Title a', 'Title b', 'Title shared']);
  });

  it('TOOL-050: what two engines found is one result, and the best', async () => {
    expect(titles(await search('tea'))[0]).toBe('Title shared');
  });

  it('TOOL-001 TOOL-051: rows name title, url, excerpt and engine, and asking takes no key', async () => {
    beta.respondWith(() => ({ results: [] }));
    alpha.respondWith(() => ({ results: [page('a')] }));
    expect((await search('tea')).results).toEqual([
      { title: 'Title a', url: 'https://example.com/a', snippet: 'About a', engine: 'alpha' },
    ]);
  });

  it('TOOL-033: engines that find nothing make an empty result', async () => {
    for (const engine of [alpha, beta]) engine.respondWith(() => ({ results: [] }));
    expect(await search('tea')).toEqual({ status: 'empty', results: [], unresponsive_engines: [], notes: [] });
  });

  it('TOOL-050: with one engine down the others still answer, and the outcome is partial', async () => {
    beta.respondWith(() => ({ status: 500 }));
    const outcome = await search('tea');
    expect(outcome).toMatchObject({ status: 'partial', unresponsive_engines: [{ engine: 'beta' }] });
    expect(titles(outcome)).toEqual(['Title a', 'Title shared']);
  });

  it('TOOL-050: one engine that does not answer in its time does not hold up the others', async () => {
    beta.respondWith(() => 'hang');
    const outcome = await search('tea');
    expect(outcome).toMatchObject({
      status: 'partial',
      unresponsive_engines: [{ engine: 'beta', reason: 'timeout' }],
    });
    expect(titles(outcome)).toEqual(['Title a', 'Title shared']);
  });

  it('TOOL-033: with every engine down the outcome is inconclusive, not empty', async () => {
    for (const engine of [alpha, beta]) engine.respondWith(() => ({ status: 503 }));
    const outcome = await search('tea');
    expect(outcome).toMatchObject({ status: 'upstream_failed', results: [] });
    expect(outcome.unresponsive_engines.map(({ engine }) => engine)).toEqual(['alpha', 'beta']);
  });

  it('TOOL-010: a bang in a query is text, not a choice of engine', async () => {
    // SearXNG itself would ask alpha alone.
    const raw = await fetch(`${searxng.endpoint}/search?format=json&q=${encodeURIComponent('!alpha tea')}`);
    expect([raw.status, alpha.queries, beta.queries]).toEqual([200, ['tea'], []]);
    await search('!alpha tea');
    expect([alpha.queries, beta.queries]).toEqual([['tea', 'alpha tea'], ['alpha tea']]);
  });

  it('TOOL-010: a redirecting bang is searched for, not followed', async () => {
    await expect(search('!!g tea !!')).resolves.toMatchObject({ status: 'ok' });
    expect(alpha.queries).toEqual(['g tea']);
  });

  /** What SearXNG searches for when asked for `query`; a command is no longer in it, an error has none. */
  async function searchedFor(query: string): Promise<unknown> {
    const parameters = new URLSearchParams({ q: query, format: 'json', language: 'en' });
    const response = await fetch(`${searxng.endpoint}/search?${parameters}`, { redirect: 'manual' });
    return ((await response.json()) as { query?: unknown }).query;
  }

  it.each(['!alpha tea', '!general tea', ':de tea', ':english tea', '<3 tea', '<850 tea', '<² tea', 'tea !!'])(
    'TOOL-010: SearXNG takes %j for a command, and the plain query for text',
    async (query) => {
      expect(await searchedFor(query)).not.toBe(query);
      expect(await searchedFor(plainQuery(query))).toBe(plainQuery(query));
    },
  );

  it('TOOL-010: SearXNG finds no command in any plain query', async () => {
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
