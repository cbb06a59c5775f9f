import robotsParser from 'robots-parser';
import { PageError } from './page-error.js';
import { discard, type PageRequestRules, requestPage, type Response, USER_AGENT } from './page-request.js';

/** Bytes that are read; RFC 9309 requires no more. */
const MAX_BYTES = 500 * 1024;
/** Characters per rule. Real rules are shorter. */
const MAX_RULE = 500;
/** Characters in all rules for an agent. Matching takes a step per pair of rule and address characters. */
const MAX_RULES = 64 * 1024;
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
    const text = Buffer.concat(chunks).subarray(0, MAX_BYTES).toString('utf8');
    // A rule that is cut would match more than the whole one.
    return size < MAX_BYTES ? text : text.slice(0, text.lastIndexOf('\n') + 1);
  } finally {
    discard(body);
  }
}

/**
 * The rules for our agent and for all agents, as a robots file. Excludes long rules, and rules after too many characters: the
 * parser takes a step for each pair of agent and rule. Pure.
 */
export function boundedRules(file: string): string {
  const groups = new Map<string, { lines: string[]; room: number }>();
  let named: string[] = [];
  let areNamed = false;
  for (const line of file.split(/\r\n|\r|\n/)) {
    const [, field = '', value = ''] = /^([^:#]*):([^#]*)/.exec(line) ?? [];
    const name = field.trim().toLowerCase();
    if (name === '') continue;
    if (name === 'user-agent') {
      const agent = value.split('/', 1).join('').trim().toLowerCase();
      if (!areNamed) named = [];
      if ((agent === '*' || agent === USER_AGENT) && !named.includes(agent)) named.push(agent);
    }
    if (name === 'allow' || name === 'disallow') for (const agent of named) add(agent, name, value.trim());
    // Makes a group, like in the parser.
    if (name === 'crawl-delay') for (const agent of named) add(agent, 'disallow', '');
    areNamed = name === 'user-agent';
  }

  function add(agent: string, name: string, pattern: string): void {
    const group = groups.get(agent) ?? { lines: [], room: MAX_RULES };
    groups.set(agent, group);
    if (pattern === '' || pattern.length > MAX_RULE) return;
    // The parser encodes it.
    const { length } = encodeURI(pattern.toWellFormed());
    if (length > group.room) return;
    group.room -= length;
    group.lines.push(`${name}: ${pattern}`);
  }

  // A group without a rule allows everything.
  return Array.from(groups, ([agent, { lines }]) => [`user-agent: ${agent}`, 'disallow:', ...lines].join('\n')).join(
    '\n',
  );
}

/** Follows robots files as RFC 9309 asks: a missing file allows everything, a failing server nothing. */
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
    const file = parse(url.href, boundedRules(await beginningOf(response)));
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
