import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createInflate, createUnzip } from 'node:zlib';
import { pageAddress } from '@uswarm/service-kit';
import type { Outgoing } from '@uswarm/service-kit/outgoing';
import { codeOf, networkFailure } from '../network-failure.js';
import { PageError } from './page-error.js';

/** Robots files name this agent. */
export const USER_AGENT = 'uswarm-page-reader';
const HEADERS = {
  accept:
    'text/html, application/xhtml+xml, text/markdown, text/plain, application/pdf, application/json;q=0.9, */*;q=0.1',
  'accept-encoding': 'gzip, deflate, br',
  'user-agent': `Mozilla/5.0 (compatible; ${USER_AGENT}/0.1)`,
};
const MAX_REDIRECTS = 5;
const PORTS = ['', '80', '443'];

export interface PageRequestRules {
  outgoing: Pick<Outgoing, 'request'>;
  /** Hosts inside the network that may be read, also on other ports. `outgoing` must accept them as well. */
  privateHosts: readonly string[];
}

export interface Response {
  /** The address after all redirects. */
  url: URL;
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** Decompressed. */
  body: Readable;
}

/** @throws PageError `invalid_argument` */
export function checkAddress(text: unknown, { privateHosts }: Pick<PageRequestRules, 'privateHosts'>): URL {
  const url = typeof text === 'string' ? pageAddress(text) : undefined;
  if (url === undefined)
    throw new PageError('invalid_argument', 'url must be an http or https address without a user name and a password');
  if (!PORTS.includes(url.port) && !privateHosts.includes(url.hostname))
    throw new PageError('invalid_argument', 'only the ports 80 and 443 can be read');
  return url;
}

/**
 * Requests an address, and follows its redirects. Each hop is checked like the first address.
 *
 * @param allows called before each hop. @throws PageError for an address that must not be requested
 * @throws PageError
 */
export async function requestPage(
  start: URL,
  rules: PageRequestRules,
  allows: (url: URL) => Promise<void>,
  signal: AbortSignal,
): Promise<Response> {
  let url = start;
  for (let hops = 0; ; hops += 1) {
    await allows(url);
    const {
      statusCode: status,
      headers,
      body,
    } = await rules.outgoing.request(url, { method: 'GET', headers: HEADERS, signal }).catch((error: unknown) => {
      throw requestError(error, url);
    });
    const location = headers['location'];
    if (status < 300 || status > 399 || status === 304 || typeof location !== 'string')
      return { url, status, headers, body: decompressed(body, String(headers['content-encoding'] ?? '')) };
    discard(body);
    if (hops === MAX_REDIRECTS)
      throw new PageError('too_many_redirects', `the address redirects more than ${MAX_REDIRECTS} times`);
    const next = URL.parse(location, url.href);
    if (next === null) throw new PageError('upstream_failed', 'the address redirects to an invalid address');
    url = checkAddress(next.href, rules);
  }
}

const CODINGS: Record<string, () => NodeJS.ReadWriteStream> = {
  gzip: createUnzip,
  'x-gzip': createUnzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

function decompressed(body: Readable, encoding: string): Readable {
  const coding = encoding.trim().toLowerCase();
  if (coding === '' || coding === 'identity') return body;
  const create = CODINGS[coding];
  if (create === undefined) {
    discard(body);
    throw new PageError('unsupported_type', `the page has the encoding ${coding.slice(0, 40)}, which cannot be read`);
  }
  // The last stream reports each stream's errors.
  return pipeline(body, create(), () => undefined) as unknown as Readable;
}

/** The rest is not read. */
export const discard = (body: Readable): void => void body.on('error', () => undefined).destroy();

/** @throws PageError `too_large`, `upstream_failed` */
export async function readBody({ body, url }: Response, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.byteLength;
      if (size > maxBytes)
        throw new PageError(
          'too_large',
          `the page has more than ${maxBytes / (1024 * 1024)} MiB, which is too large to read`,
        );
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } catch (error) {
    throw error instanceof PageError ? error : requestError(error, url);
  } finally {
    discard(body);
  }
}

/** `publicLookup` has checked each of the host's addresses. */
function requestError(error: unknown, { hostname }: URL): PageError {
  if (error instanceof PageError) return error;
  const code = codeOf(error);
  if (code === 'PRIVATE_ADDRESS')
    return new PageError('not_public', `${hostname} is not a public address, and only public pages can be read`, error);
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return new PageError('timeout', `${hostname} did not answer in time`, error);
  return new PageError('upstream_failed', `${hostname} failed: ${networkFailure(error)}`, error);
}
