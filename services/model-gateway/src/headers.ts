import type { IncomingHttpHeaders } from 'node:http';

type Headers = Record<string, string>;

/** Provider headers that reach the runtime; others name the platform's accounts, limits and cookies. */
const RESPONSE_HEADERS = [
  'content-type',
  'content-encoding',
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
  'x-request-id',
  'request-id',
];

/** The named headers in a message. Pure. */
export function pickHeaders(headers: IncomingHttpHeaders, names: readonly string[]): Headers {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value] as const] : [];
    }),
  );
}

/** The provider response headers that are passed on. Pure. */
export const responseHeaders = (headers: IncomingHttpHeaders): Headers => pickHeaders(headers, RESPONSE_HEADERS);
