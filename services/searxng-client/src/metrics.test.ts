import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { WebSearchError } from './errors.js';
import { createSearchMetrics, measureSearches } from './metrics.js';
import type { SearchOutcome } from './outcome.js';

const failed: SearchOutcome = {
  status: 'upstream_failed',
  results: [],
  unresponsive_engines: [{ engine: 'alpha', reason: 'timeout' }],
  notes: [],
};

describe('measureSearches', () => {
  it('counts outcomes by status, errors by code, and engines that did not respond', async () => {
    const registry = new Registry();
    const answers = [async () => failed, () => Promise.reject(new WebSearchError('timeout', 'GET x'))];
    const search = () => (answers.shift() ?? (() => Promise.reject(new Error('none left'))))();
    const measured = measureSearches({ search }, createSearchMetrics(registry));
    await expect(measured.search({})).resolves.toBe(failed);
    await expect(measured.search({})).rejects.toMatchObject({ code: 'timeout' });
    await expect(measured.search({})).rejects.toThrow('none left');
    const lines = (await registry.metrics()).split('\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        'uswarm_searches_total{status="upstream_failed"} 1',
        'uswarm_searches_total{status="timeout"} 1',
        'uswarm_searches_total{status="internal"} 1',
        'uswarm_searches_total{status="ok"} 0',
        'uswarm_search_duration_seconds_count 3',
        'uswarm_search_engine_failures_total{engine="alpha"} 1',
      ]),
    );
  });

  it('bounds the number of engine labels', async () => {
    const registry = new Registry();
    const metrics = createSearchMetrics(registry);
    for (let index = 0; index < 200; index += 1) metrics.engineFailed(`engine ${index}`);
    const lines = (await registry.metrics()).split('\n').filter((line) => line.includes('{engine='));
    expect(lines).toHaveLength(51);
    expect(lines).toContain('uswarm_search_engine_failures_total{engine="other"} 150');
  });
});
