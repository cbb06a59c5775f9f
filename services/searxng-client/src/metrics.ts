import { initializedCounter, type Registry } from '@uswarm/service-kit';
import { Counter, Histogram } from 'prom-client';
import { WEB_SEARCH_ERRORS, WebSearchError, type WebSearchErrorCode } from './errors.js';
import { type SearchOutcome, searchOutcomeSchema } from './outcome.js';
import { PAGE_ERRORS, PageError, type PageErrorCode } from './pages/page-error.js';
import type { PageReader } from './pages/page-reader.js';
import type { WebSearch } from './web-search.js';

/** Further engines share one label, which bounds the number of series. */
const MAX_ENGINE_LABELS = 50;

export interface SearchMetrics {
  /** @param status outcome, or error code */
  searched(status: string, seconds: number): void;
  engineFailed(engine: string): void;
  /** A workspace has reached its limit. */
  limited(): void;
  /** @param status `ok`, or error code */
  pageRead(status: string, seconds: number): void;
  /** A workspace has reached its limit with a page. */
  pageLimited(): void;
}

export function createSearchMetrics(registry: Registry): SearchMetrics {
  const searches = initializedCounter(
    registry,
    'uswarm_searches_total',
    'Total searches by outcome status or error code.',
    { status: [...searchOutcomeSchema.shape.status.options, ...WEB_SEARCH_ERRORS, 'internal'] },
  );
  const duration = new Histogram({
    name: 'uswarm_search_duration_seconds',
    help: 'Duration of a search in seconds.',
    buckets: [0.1, 0.25, 0.5, 1, 2, 3, 5, 7.5, 10],
    registers: [registry],
  });
  const failures = new Counter({
    name: 'uswarm_search_engine_failures_total',
    help: 'Total searches in which an engine did not respond.',
    labelNames: ['engine'],
    registers: [registry],
  });
  const pages = initializedCounter(
    registry,
    'uswarm_pages_total',
    'Total pages read by outcome status or error code.',
    {
      status: ['ok', ...PAGE_ERRORS, 'internal'],
    },
  );
  const pageDuration = new Histogram({
    name: 'uswarm_page_duration_seconds',
    help: 'Duration of reading a page in seconds.',
    buckets: [0.1, 0.25, 0.5, 1, 2, 3, 5, 7.5, 10, 15],
    registers: [registry],
  });
  const known = new Set<string>();
  return {
    pageRead(status, seconds) {
      pages.inc({ status });
      pageDuration.observe(seconds);
    },
    pageLimited: () => pages.inc({ status: 'rate_limited' satisfies PageErrorCode }),
    searched(status, seconds) {
      searches.inc({ status });
      duration.observe(seconds);
    },
    limited: () => searches.inc({ status: 'rate_limited' satisfies WebSearchErrorCode }),
    engineFailed(engine) {
      if (known.size < MAX_ENGINE_LABELS) known.add(engine);
      failures.inc({ engine: known.has(engine) ? engine : 'other' });
    },
  };
}

/** Wraps a search with metrics. */
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

/** Wraps a page reader with metrics. */
export function measurePages(pages: PageReader, metrics: Pick<SearchMetrics, 'pageRead'>): PageReader {
  return {
    async readPage(args, options) {
      const start = performance.now();
      const done = (status: string): void => metrics.pageRead(status, (performance.now() - start) / 1_000);
      try {
        const page = await pages.readPage(args, options);
        done(page.status);
        return page;
      } catch (error) {
        done(error instanceof PageError ? error.code : 'internal');
        throw error;
      }
    },
    close: () => pages.close(),
  };
}
