import { WebSearchError } from './errors.js';

/** SearXNG in the cluster (TOOL-003). */
export const DEFAULT_SEARCH_ENDPOINT = 'http://searxng.backend.svc.cluster.local:8080';

export interface EndpointSources {
  /** `--searxng-endpoint`. An empty value disables search. */
  flag?: string | undefined;
  env: Record<string, string | undefined>;
}

/**
 * The flag, else `SVC_SEARCH_ENDPOINT`, else the address in the cluster. An explicitly empty setting
 * disables search (TOOL-030).
 */
export function resolveEndpoint({ flag, env }: EndpointSources): string {
  return (flag ?? env['SVC_SEARCH_ENDPOINT'] ?? DEFAULT_SEARCH_ENDPOINT).trim();
}

/**
 * The URL of one search.
 * @throws WebSearchError `not_configured`, `invalid_endpoint`
 */
export function searchUrl(endpoint: string, query: string, notConfiguredHint: string): URL {
  if (endpoint.trim() === '') {
    throw new WebSearchError('not_configured', `searxng endpoint is not configured. ${notConfiguredHint}`.trim());
  }
  const url = URL.parse(endpoint);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new WebSearchError('invalid_endpoint', 'searxng endpoint is not an http or https URL');
  }
  // Without credentials: the URL appears in error messages that a model reads.
  url.username = '';
  url.password = '';
  url.hash = '';
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/search`;
  url.search = new URLSearchParams({ q: query, format: 'json', safesearch: '0', language: 'en' }).toString();
  return url;
}
