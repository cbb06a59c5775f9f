import { WEB_SEARCH_TOOL } from '@uswarm/contract/agent-tools';

/** What a caller can branch on; the texts are for people and models. */
export const WEB_SEARCH_ERRORS = [
  'invalid_argument',
  'not_configured',
  'invalid_endpoint',
  'bad_status',
  'timeout',
  'unreachable',
  'response_too_large',
  'not_json',
  'malformed_response',
  'rate_limited',
  'cancelled',
] as const;
export type WebSearchErrorCode = (typeof WEB_SEARCH_ERRORS)[number];

/**
 * A search that gave no answer at all. The message begins with `web_search_tool: ` and is fit to be
 * shown to the language model as it is. spec: supporting §7
 */
export class WebSearchError extends Error {
  override name = 'WebSearchError';
  readonly code: WebSearchErrorCode;
  /** The HTTP status of SearXNG, with `bad_status` only. */
  readonly status: number | undefined;

  constructor(code: WebSearchErrorCode, text: string, options: { status?: number; cause?: unknown } = {}) {
    super(`${WEB_SEARCH_TOOL}: ${text}`, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.status = options.status;
  }
}
