import { WEB_SEARCH_TOOL } from '@uswarm/contract/agent-tools';
import type { Dispatcher } from 'undici';
import { checkArguments, type SearchArguments } from './arguments.js';
import { searchUrl } from './endpoint.js';
import type { SearchOutcome } from './outcome.js';
import { requestJson } from './searxng-request.js';
import { readResponse } from './searxng-response.js';

/** Milliseconds a search may take, body included. spec: supporting §8 */
const SEARCH_TIMEOUT_MS = 10_000;
/** Bytes of an answer; more is refused while it arrives. spec: supporting §8 */
export const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;
const USER_AGENT = `uswarm-web-search/0.1 (${WEB_SEARCH_TOOL})`;

const NOT_CONFIGURED_HINT = 'Set SVC_SEARCH_ENDPOINT to the address of a SearXNG that has the JSON format on.';

export interface WebSearchDeps {
  /** The address of SearXNG; empty means that searching is not configured. */
  endpoint: string;
  /** A sentence, appended to the "not configured" error, on how to get a SearXNG. */
  notConfiguredHint?: string;
  dispatcher?: Dispatcher;
  timeoutMs?: number;
  maxBytes?: number;
  userAgent?: string;
}

export interface WebSearch {
  /** @throws WebSearchError; engines that found nothing or failed are outcomes, not errors. */
  search(args: SearchArguments, options?: { signal?: AbortSignal | undefined }): Promise<SearchOutcome>;
}

/** The `web_search_tool`: one GET to SearXNG a search. spec: supporting §4.1 */
export function createWebSearch({
  endpoint,
  notConfiguredHint = NOT_CONFIGURED_HINT,
  dispatcher,
  timeoutMs = SEARCH_TIMEOUT_MS,
  maxBytes = MAX_RESPONSE_BYTES,
  userAgent = USER_AGENT,
}: WebSearchDeps): WebSearch {
  return {
    async search(args, { signal } = {}) {
      const { query, maxResults, notes } = checkArguments(args);
      const url = searchUrl(endpoint, query, notConfiguredHint);
      const json = await requestJson(url, { dispatcher, userAgent, timeoutMs, maxBytes, signal });
      const outcome = readResponse(json, maxResults);
      return { ...outcome, notes: [...notes, ...outcome.notes] };
    },
  };
}
