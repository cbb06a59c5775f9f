import { READ_PAGE_TOOL } from '@uswarm/contract/agent-tools';

/** Codes for programs and metrics; the messages are for users and models. */
export const PAGE_ERRORS = [
  'invalid_argument',
  'not_public',
  'blocked_by_robots',
  'too_many_redirects',
  'bad_status',
  'unsupported_type',
  'too_large',
  'timeout',
  'upstream_failed',
  'unreadable',
  'empty',
  'rate_limited',
  'not_allowed',
  'cancelled',
] as const;
export type PageErrorCode = (typeof PAGE_ERRORS)[number];

/** The message begins with `read_page_tool: `, and can name an address from the page's server. */
export class PageError extends Error {
  override name = 'PageError';
  readonly code: PageErrorCode;

  constructor(code: PageErrorCode, text: string, cause?: unknown) {
    super(`${READ_PAGE_TOOL}: ${text}`, cause === undefined ? {} : { cause });
    this.code = code;
  }
}
