import type { IncomingHttpHeaders } from 'node:http';

type Headers = Record<string, string>;

/** Headers of a provider that reach the runtime; others name accounts, limits and cookies of the platform. */
const RESPONSE_HEADERS = [
  'content-type',
  'content-encoding',
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
  'x-request-id',
  'request-id',
];

/** The named headers of a message. Pure. */
export function pickHeaders(headers: IncomingHttpHeaders, names: readonly string[]): Headers {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value] as const] : [];
    }),
  );
}

/** The headers of a provider's response that are passed on. Pure. */
export const responseHeaders = (headers: IncomingHttpHeaders): Headers => pickHeaders(headers, RESPONSE_HEADERS);
