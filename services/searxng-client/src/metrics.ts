import { Counter, Histogram, type Registry } from 'prom-client';
import { WebSearchError } from './errors.js';
import type { SearchOutcome } from './outcome.js';
import type { WebSearch } from './web-search.js';

/** Engines beyond this many share one label, so that an odd SearXNG cannot grow the metrics for ever. */
const MAX_ENGINE_LABELS = 50;

export interface SearchMetrics {
  /** @param status the outcome's, or the code of the error. */
  searched(status: string, seconds: number): void;
  engineFailed(engine: string): void;
}

export function createSearchMetrics(registry: Registry): SearchMetrics {
  const searches = new Counter({
    name: 'uswarm_searches_total',
    help: 'Searches by how they ended: the status of the outcome, or the code of the error.',
    labelNames: ['status'],
    registers: [registry],
  });
  const duration = new Histogram({
    name: 'uswarm_search_duration_seconds',
    help: 'Seconds from the question to the outcome or the error.',
    buckets: [0.1, 0.25, 0.5, 1, 2, 3, 5, 7.5, 10],
    registers: [registry],
  });
  const failures = new Counter({
    name: 'uswarm_search_engine_failures_total',
    help: 'Searches in which a search engine did not answer.',
    labelNames: ['engine'],
    registers: [registry],
  });
  const known = new Set<string>();
  return {
    searched(status, seconds) {
      searches.inc({ status });
      duration.observe(seconds);
    },
    engineFailed(engine) {
      if (known.size < MAX_ENGINE_LABELS) known.add(engine);
      failures.inc({ engine: known.has(engine) ? engine : 'other' });
    },
  };
}

/** The same search, counted. */
export function measureSearches(search: WebSearch, metrics: SearchMetrics): WebSearch {
  return {
    async search(args, options) {
      const start = performance.now();
      const done = (status: string): void => metrics.searched(status, (performance.now() - start) / 1_000);
      let outcome: SearchOutcome;
      try {
        outcome = await search.search(args, options);
      } catch (error) {
        done(error instanceof WebSearchError ? error.code : 'internal');
        throw error;
      }
      done(outcome.status);
      for (const { engine } of outcome.unresponsive_engines) metrics.engineFailed(engine);
      return outcome;
    },
  };
}
