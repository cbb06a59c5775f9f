import { createServer, type RequestListener } from 'node:http';
import { once } from 'node:events';
import { LocalError, type RunningSearxng } from '@uswarm/dev-servers';
import { listen, type RunningServer } from '@uswarm/service-kit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLocalSearch, type LocalSearchDeps } from './local-search.js';

const NOT_CONFIGURED = 'web_search_tool: searxng endpoint is not configured.';

/** A SearXNG whose start the test ends. */
function startedByTest() {
  const { promise, resolve, reject } = Promise.withResolvers<RunningSearxng>();
  const asked = Promise.withResolvers<{ python: string; signal: AbortSignal }>();
  const start: LocalSearchDeps['start'] = (python, signal) => {
    asked.resolve({ python, signal });
    return promise;
  };
  return { start, resolve, reject, asked: asked.promise };
}

async function searchWith(deps: Partial<LocalSearchDeps>) {
  const lines: string[] = [];
  const search = await createLocalSearch({
    search: { kind: 'searxng' },
    findPython: () => Promise.resolve('python3'),
    start: () => Promise.reject(new Error('is not started')),
    progress: (line) => lines.push(line),
    ...deps,
  });
  return { ...search, lines, ask: (signal?: AbortSignal) => search.webSearch.search({ query: 'tea' }, { signal }) };
}

describe('the search of local mode', () => {
  let server: RunningServer;
  let respond: RequestListener = (_, response) => void response.end('{"results":[{"url":"https://tea.example/"}]}');
  beforeAll(async () => {
    server = await listen(
      createServer((request, response) => respond(request, response)),
      {
        host: '127.0.0.1',
        port: 0,
      },
    );
  });
  afterAll(() => server?.close(0));
  const running = (): RunningSearxng => ({ endpoint: server.url, close: () => Promise.resolve() });

  it('tells a search that waits that it goes on', async () => {
    const { start, resolve } = startedByTest();
    const search = await searchWith({ start, reportMs: 1 });
    search.begin();
    let found: Promise<unknown> = Promise.resolve();
    await new Promise<void>((onWait) => {
      found = search.webSearch.search({ query: 'tea' }, { onWait });
    });
    resolve(running());
    expect(await found).toMatchObject({ status: 'ok' });
  });

  it('waits for SearXNG, which starts in the background', async () => {
    const { start, resolve, asked } = startedByTest();
    const search = await searchWith({ start });
    expect(search.describe()).toBe('SearXNG, starting in the background');
    search.begin();
    const found = search.ask();
    expect(await asked).toMatchObject({ python: 'python3' });
    resolve(running());
    expect(await found).toMatchObject({ results: [{ url: 'https://tea.example/' }] });
    expect(search.describe()).toBe(server.url);
    expect(search.lines).toEqual([
      expect.stringMatching(/^SearXNG is ready \(\d+\.\d s\): agents can search the web$/),
    ]);
  });

  it('answers that SearXNG is still being installed if that takes too long', async () => {
    const search = await searchWith({ start: startedByTest().start, waitMs: 1 });
    search.begin();
    await expect(search.ask()).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringContaining('SearXNG is still being installed'),
    });
  });

  it('ends the wait of a search that is cancelled', async () => {
    const search = await searchWith({ start: startedByTest().start });
    search.begin();
    const cancel = new AbortController();
    const found = search.ask(cancel.signal);
    cancel.abort();
    await expect(found).rejects.toMatchObject({ code: 'cancelled' });
  });

  it('goes on if SearXNG cannot be installed, and names the reason in one line and in each answer', async () => {
    const { start, reject } = startedByTest();
    const search = await searchWith({ start });
    search.begin();
    const found = search.ask();
    reject(new LocalError('SearXNG could not be installed: the disk is full.'));
    const sentence =
      'Search is not set up: SearXNG could not be installed: the disk is full; then start again, or set ' +
      'SVC_SEARCH_ENDPOINT to the address of a SearXNG.';
    await expect(found).rejects.toThrow(`${NOT_CONFIGURED} ${sentence}`);
    await expect(search.ask()).rejects.toThrow(sentence);
    expect(search.lines).toEqual([sentence]);
    expect(search.describe()).toBe(sentence);
  });

  it('names an unexpected failure in one line', async () => {
    const search = await searchWith({ start: () => Promise.reject(new Error('first\nsecond')) });
    search.begin();
    await expect(search.ask()).rejects.toThrow('SearXNG could not be started: Error: first; then start again');
    expect(search.lines.join('')).not.toContain('\n');
  });

  it('names what to install if this machine has no Python', async () => {
    const search = await searchWith({
      findPython: () => Promise.reject(new LocalError('SearXNG needs Python 3.11; install python3.')),
    });
    search.begin();
    const sentence = 'Search is not set up: SearXNG needs Python 3.11; install python3; then start again, or set';
    expect(search.describe()).toContain(sentence);
    await expect(search.ask()).rejects.toThrow(`${NOT_CONFIGURED} ${sentence}`);
    expect(search.lines).toEqual([]);
  });

  it('ends the installation on close, without a line', async () => {
    const { start, reject, asked } = startedByTest();
    const search = await searchWith({ start });
    search.begin();
    const { signal } = await asked;
    const aborted = once(signal, 'abort').then(() => reject(signal.reason));
    await search.close();
    await aborted;
    expect(search.lines).toEqual([]);
  });

  it('answers a waiting search on close, although SearXNG never began to start', async () => {
    const search = await searchWith({});
    const answer = search.ask();
    await search.close();
    await expect(answer).rejects.toThrow(`${NOT_CONFIGURED} uswarm is stopping.`);
  });

  it('starts no SearXNG after close', async () => {
    let starts = 0;
    const start = (): Promise<RunningSearxng> => {
      starts += 1;
      return Promise.resolve(running());
    };
    const search = await searchWith({ start });
    await search.close();
    search.begin();
    await search.close();
    expect(starts).toBe(0);
  });

  it('stops a SearXNG that runs', async () => {
    let closed = 0;
    const search = await searchWith({
      start: () => Promise.resolve({ ...running(), close: () => Promise.resolve(void (closed += 1)) }),
    });
    search.begin();
    await search.ask();
    await search.close();
    expect(closed).toBe(1);
  });

  it('is the SearXNG of the user, with its credentials, which are not shown', async () => {
    const received = Promise.withResolvers<string | undefined>();
    respond = (request, response) => {
      received.resolve(request.headers.authorization);
      response.end('{"results":[]}');
    };
    const endpoint = server.url.replace('//', '//user:hunter2@');
    const search = await searchWith({ search: { kind: 'own', endpoint } });
    await search.ask();
    expect(await received.promise).toBe(`Basic ${Buffer.from('user:hunter2').toString('base64')}`);
    expect(search.describe()).toBe(server.url);
  });

  it('explains how to turn it on if it is off', async () => {
    const search = await searchWith({ search: { kind: 'off' } });
    search.begin();
    expect(search.describe()).toBe('off');
    await expect(search.ask()).rejects.toThrow(
      `${NOT_CONFIGURED} Search is turned off. Start uswarm without --no-search`,
    );
  });
});
