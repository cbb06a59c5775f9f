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

/** A user name and a password for HTTP Basic authentication. */
export interface Credentials {
  username: string;
  password: string;
}

/** A SearXNG, with its credentials apart: the URL appears in error messages that a model reads. */
export interface Endpoint {
  url: URL;
  /** The value of the `Authorization` header. */
  authorization: string | undefined;
}

/**
 * Reads the SearXNG URL. Credentials in the URL have precedence over `credentials`.
 * @throws WebSearchError `not_configured`, `invalid_endpoint`
 */
export function readEndpoint(endpoint: string, notConfiguredHint: string, credentials?: Credentials): Endpoint {
  if (endpoint.trim() === '') {
    throw new WebSearchError('not_configured', `searxng endpoint is not configured. ${notConfiguredHint}`.trim());
  }
  const url = URL.parse(endpoint.trim());
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new WebSearchError('invalid_endpoint', 'searxng endpoint is not an http or https URL');
  }
  if (`${url.pathname}${url.search}${url.hash}`.includes('@')) {
    // Otherwise a part of the password would become the path, which error messages contain.
    const rule = 'a password in the searxng endpoint needs "/", "?", "#" and "@" in percent-encoding';
    throw new WebSearchError('invalid_endpoint', rule);
  }
  const inUrl = { username: percentDecoded(url.username), password: percentDecoded(url.password) };
  const own = inUrl.username === '' && inUrl.password === '' ? credentials : inUrl;
  url.username = '';
  url.password = '';
  url.hash = '';
  url.search = '';
  return { url, authorization: own === undefined ? undefined : basicAuthorization(own) };
}

/** The endpoint as people may see it, without credentials. Other text becomes empty. */
export function shownEndpoint(endpoint: string): string {
  const url = URL.parse(endpoint.trim());
  if (url === null) return '';
  url.username = '';
  url.password = '';
  return url.href.replace(/\/$/, '');
}

/** The URL of one search. */
export function searchUrl(endpoint: URL, query: string): URL {
  const url = new URL(endpoint);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/search`;
  url.search = new URLSearchParams({ q: query, format: 'json', safesearch: '0', language: 'en' }).toString();
  return url;
}

function basicAuthorization({ username, password }: Credentials): string {
  return `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`;
}

/** A `%` that encodes nothing stays. */
function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
