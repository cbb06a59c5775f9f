import { WEB_SEARCH_TOOL } from '@uswarm/contract/agent-tools';

/** Codes for programs; the messages are for users and models. */
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
  'not_allowed',
  'cancelled',
] as const;
export type WebSearchErrorCode = (typeof WEB_SEARCH_ERRORS)[number];

/**
 * The message begins with `web_search_tool: ` (TOOL-030 to TOOL-032) and contains nothing that a
 * language model must not see.
 */
export class WebSearchError extends Error {
  override name = 'WebSearchError';
  readonly code: WebSearchErrorCode;
  /** The HTTP status of SearXNG, for `bad_status`. */
  readonly status: number | undefined;

  constructor(code: WebSearchErrorCode, text: string, options: { status?: number; cause?: unknown } = {}) {
    super(`${WEB_SEARCH_TOOL}: ${text}`, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.status = options.status;
  }
}
