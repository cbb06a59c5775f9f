import { startDeadline } from '@uswarm/service-kit';
import type { Outgoing } from '@uswarm/service-kit/outgoing';
import type { Dispatcher } from 'undici';
import { WebSearchError } from './errors.js';
import { codeOf, networkFailure } from './network-failure.js';

export interface SearxngRequestOptions {
  /** Header value, for a SearXNG that requires it. */
  authorization: string | undefined;
  outgoing: Pick<Outgoing, 'request'>;
  userAgent: string;
  /** Milliseconds for the connection, the response and its whole body. */
  timeoutMs: number;
  maxBytes: number;
  signal: AbortSignal | undefined;
}

/**
 * Requests the JSON of one search. Redirects are errors, because SearXNG redirects to other sites.
 * @throws WebSearchError
 */
export async function requestJson(url: URL, options: SearxngRequestOptions): Promise<unknown> {
  const deadline = startDeadline(options.timeoutMs, options.signal);
  try {
    const response = await options.outgoing.request(url, {
      method: 'GET',
      headers: headersOf(options),
      signal: deadline.signal,
    });
    const text = await readChecked(response, options);
    return parseJson(text, String(response.headers['content-type'] ?? ''));
  } catch (error) {
    throw toSearchError(error, url, deadline.expired(), options);
  } finally {
    deadline.end();
  }
}

function headersOf({ authorization, userAgent }: SearxngRequestOptions): Record<string, string> {
  const headers = { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': userAgent };
  return authorization === undefined ? headers : { ...headers, authorization };
}

async function readChecked(
  { statusCode, body }: Dispatcher.ResponseData,
  { authorization, maxBytes }: SearxngRequestOptions,
): Promise<string> {
  try {
    if (statusCode < 200 || statusCode > 299) {
      const text = `searxng returned status ${statusCode}${explainStatus(statusCode, authorization !== undefined)}`;
      throw new WebSearchError('bad_status', text, { status: statusCode });
    }
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.byteLength;
      if (size > maxBytes) {
        throw new WebSearchError('response_too_large', `searxng sent more than ${maxBytes} bytes`);
      }
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString('utf8');
  } finally {
    // The rest of a rejected body is not read.
    body.on('error', () => undefined).destroy();
  }
}

function explainStatus(status: number, hasCredentials: boolean): string {
  if (status === 401 && hasCredentials) return ' (it rejects the user name or the password)';
  if (status === 401) return ' (it requires a user name and a password)';
  if (status === 403) return ' (the JSON format is disabled: add "json" to search.formats in its settings)';
  if (status === 429) return ' (too many requests; try again later)';
  if (status >= 300 && status < 400) return ' (a redirect, which is not followed)';
  return '';
}

function parseJson(text: string, contentType: string): unknown {
  try {
    return parsePythonJson(text);
  } catch (cause) {
    if (contentType.includes('text/html') || /^\s*</.test(text)) {
      throw new WebSearchError('not_json', 'searxng returned HTML instead of JSON; is this address a SearXNG?');
    }
    throw new WebSearchError('malformed_response', 'searxng sent malformed JSON', { cause });
  }
}

/** Reads `NaN` and `Infinity`, which Python's JSON encoder writes, as null. */
function parsePythonJson(text: string): unknown {
  const json = text.replace(/^\uFEFF/u, '');
  try {
    return JSON.parse(json) as unknown;
  } catch (error) {
    const outsideOfTexts = /"[^"\\]*(?:\\.[^"\\]*)*"|\bNaN\b|-?\bInfinity\b/gsu;
    const standard = json.replace(outsideOfTexts, (token) => (token.startsWith('"') ? token : 'null'));
    if (standard === json) throw error;
    return JSON.parse(standard) as unknown;
  }
}

function toSearchError(
  error: unknown,
  url: URL,
  isLate: boolean,
  { signal, timeoutMs }: SearxngRequestOptions,
): WebSearchError {
  if (error instanceof WebSearchError) return error;
  if (signal?.aborted === true) return new WebSearchError('cancelled', 'the search was cancelled', { cause: error });
  if (isLate || codeOf(error) === 'UND_ERR_CONNECT_TIMEOUT') {
    const limit = `no complete response within ${timeoutMs / 1_000} s`;
    return new WebSearchError('timeout', `GET ${url.href}: context deadline exceeded (${limit})`, { cause: error });
  }
  return new WebSearchError('unreachable', `GET ${url.href}: ${networkFailure(error)}`, { cause: error });
}
