import { WEB_SEARCH_TOOL } from '@uswarm/contract/agent-tools';
import { createOutgoing, DIRECT, type Outgoing } from '@uswarm/service-kit/outgoing';
import { checkArguments, type SearchArguments } from './arguments.js';
import { type Credentials, readEndpoint, searchUrl } from './endpoint.js';
import type { SearchOutcome } from './outcome.js';
import { requestJson } from './searxng-request.js';
import { readResponse } from './searxng-response.js';

/** Milliseconds per search, including the body (TOOL-040). */
const SEARCH_TIMEOUT_MS = 10_000;
/** Response bytes. A larger one is rejected while it arrives (TOOL-041). */
export const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;
const USER_AGENT = `uswarm-web-search/0.1 (${WEB_SEARCH_TOOL})`;

const NOT_CONFIGURED_HINT = 'Set SVC_SEARCH_ENDPOINT to the address of a SearXNG that has the JSON format on.';

export interface WebSearchDeps {
  /** URL of SearXNG, possibly with a user name and a password. Empty disables search. */
  endpoint: string;
  /** For Basic authentication, unless the URL has its own. */
  credentials?: Credentials | undefined;
  /** A sentence for the "not configured" error that explains how to run SearXNG. */
  notConfiguredHint?: string;
  /** Default: direct connections. */
  outgoing?: Pick<Outgoing, 'request'> | undefined;
  timeoutMs?: number;
  maxBytes?: number;
  userAgent?: string;
}

export interface SearchOptions {
  signal?: AbortSignal | undefined;
  /** Called at intervals while the search waits for a SearXNG that is starting. A search that hangs does not call it. */
  onWait?: (() => void) | undefined;
}

export interface WebSearch {
  /** Engines that fail or find nothing are outcomes, not errors. @throws WebSearchError */
  search(args: SearchArguments, options?: SearchOptions): Promise<SearchOutcome>;
}

/** Sends one GET to SearXNG per search (TOOL-022). */
export function createWebSearch({
  endpoint,
  credentials,
  notConfiguredHint = NOT_CONFIGURED_HINT,
  outgoing = createOutgoing(DIRECT),
  timeoutMs = SEARCH_TIMEOUT_MS,
  maxBytes = MAX_RESPONSE_BYTES,
  userAgent = USER_AGENT,
}: WebSearchDeps): WebSearch {
  return {
    async search(args, { signal } = {}) {
      const { query, maxResults, notes } = checkArguments(args);
      const { url, authorization } = readEndpoint(endpoint, notConfiguredHint, credentials);
      const options = { authorization, outgoing, userAgent, timeoutMs, maxBytes, signal };
      const json = await requestJson(searchUrl(url, query), options);
      const outcome = readResponse(json, maxResults);
      return { ...outcome, notes: [...notes, ...outcome.notes] };
    },
  };
}
