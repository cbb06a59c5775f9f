import { expect, it } from '@jest/globals';
import { createProgress } from './progress.js';

it('reports no step after the stop has begun', () => {
  const lines: string[] = [];
  const stop = new AbortController();
  const progress = createProgress((line) => lines.push(line), stop.signal);
  progress('Starting the services');
  stop.abort();
  progress('SearXNG is ready (3.1 s): agents can search the web');
  expect(lines).toEqual(['  Starting the services']);
});
