export { MAX_QUERY_LENGTH, MAX_RESULTS_CEILING, MAX_RESULTS_DEFAULT, type SearchArguments } from './arguments.js';
export {
  DEFAULT_SEARCH_ENDPOINT,
  type EndpointSources,
  readEndpoint,
  resolveEndpoint,
  shownEndpoint,
} from './endpoint.js';
export { WebSearchError, type WebSearchErrorCode } from './errors.js';
export { createSearchServer, type SearchServer, type SearchServerDeps } from './mcp/search-server.js';
export { createSearchMetrics, measurePages, measureSearches } from './metrics.js';
export type { SearchOutcome, SearchResult } from './outcome.js';
export { createPageOutgoing, createPageReader, type Page } from './pages/page-reader.js';
export { createWebSearch, type SearchOptions, type WebSearch, type WebSearchDeps } from './web-search.js';
