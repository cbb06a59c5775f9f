import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { randomUUID } from 'node:crypto';
import {
  cacheFolder,
  type RunningSearxng,
  type SearchUpstream,
  startSearchUpstream,
  startSearxng,
  type UpstreamResult,
} from '@uswarm/dev-servers';

/** The tests' SearXNG, installed once. */
export const SEARXNG_FOLDER = path.join(cacheFolder(), 'searxng');

export interface ControlledSearch {
  searxng: RunningSearxng;
  upstream: SearchUpstream;
  /** The upstream's results, with random titles and URLs. */
  results: UpstreamResult[];
  close(): Promise<void>;
}

/** A real SearXNG with one controlled engine, whose results are random. */
export async function startControlledSearch(): Promise<ControlledSearch> {
  const directory = SEARXNG_FOLDER;
  await mkdir(directory, { recursive: true });
  const results = [1, 2, 3].map((number) => {
    const nonce = randomUUID();
    return { title: `Finding ${number} ${nonce}`, url: `https://example.com/${nonce}`, content: `Excerpt of ${nonce}` };
  });
  const upstream = await startSearchUpstream({ results });
  const engines = [{ name: 'controlled', searchUrl: upstream.searchUrl, timeoutSeconds: 8 }];
  const searxng = await startSearxng({ directory, engines, logFile: path.join(directory, 'local-test.log') });
  return {
    searxng,
    upstream,
    results,
    async close() {
      await searxng.close();
      await upstream.close();
    },
  };
}
