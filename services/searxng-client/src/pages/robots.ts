import robotsParser from 'robots-parser';
import { PageError } from './page-error.js';
import { discard, type PageRequestRules, requestPage, type Response, USER_AGENT } from './page-request.js';

/** Bytes that are read; RFC 9309 requires no more. */
const MAX_BYTES = 500 * 1024;
const MAX_ORIGINS = 500;
const KEPT_MS = 10 * 60_000;

interface Rules {
  allows(url: URL): boolean;
  until: number;
}

const ALLOWED = () => true;
const DISALLOWED = () => false;

const parse = robotsParser as unknown as (
  url: string,
  text: string,
) => { isDisallowed(url: string, agent: string): boolean | undefined };

async function beginningOf({ body }: Response): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.byteLength;
      if (size >= MAX_BYTES) break;
    }
    return Buffer.concat(chunks).subarray(0, MAX_BYTES).toString('utf8');
  } finally {
    discard(body);
  }
}

/** What robots files allow, as RFC 9309 reads them: a missing file allows everything, a failing server nothing. */
export interface Robots {
  /** @throws PageError `blocked_by_robots`, or why the file could not be requested */
  check(url: URL, signal: AbortSignal): Promise<void>;
}

/** @param now monotonic milliseconds */
export function createRobots(rules: PageRequestRules, now: () => number = () => performance.now()): Robots {
  const known = new Map<string, Rules>();

  async function rulesOf(origin: string, signal: AbortSignal): Promise<Rules> {
    const found = known.get(origin);
    if (found !== undefined && found.until > now()) return found;
    const loaded = { allows: await load(origin, signal), until: now() + KEPT_MS };
    known.delete(origin);
    known.set(origin, loaded);
    const [oldest] = known.keys();
    if (known.size > MAX_ORIGINS && oldest !== undefined) known.delete(oldest);
    return loaded;
  }

  async function load(origin: string, signal: AbortSignal): Promise<Rules['allows']> {
    const url = new URL('/robots.txt', origin);
    let response: Response;
    try {
      response = await requestPage(url, rules, () => Promise.resolve(), signal);
    } catch (error) {
      // Such a file counts as missing. The page itself is still checked.
      if (error instanceof PageError && ['too_many_redirects', 'unsupported_type'].includes(error.code)) return ALLOWED;
      throw error;
    }
    const { status } = response;
    if (status < 200 || status > 299) discard(response.body);
    if (status >= 500) return DISALLOWED;
    if (status < 200 || status > 299) return ALLOWED;
    const file = parse(url.href, await beginningOf(response));
    return (page) => file.isDisallowed(page.href, USER_AGENT) !== true;
  }

  return {
    async check(url, signal) {
      if ((await rulesOf(url.origin, signal)).allows(url)) return;
      throw new PageError(
        'blocked_by_robots',
        `${url.hostname} does not allow programs to read this page (robots.txt)`,
      );
    },
  };
}
