import { parseArgs } from 'node:util';
import { createOutgoing, type OutgoingProxy, readProxy } from '@uswarm/service-kit/outgoing';
import { MAX_RESULTS_CEILING, MAX_RESULTS_DEFAULT, type SearchArguments } from '../arguments.js';
import { loadCredentials, loadPrivateHosts } from '../config.js';
import { type Credentials, DEFAULT_SEARCH_ENDPOINT, resolveEndpoint } from '../endpoint.js';
import { WebSearchError } from '../errors.js';
import { PageError } from '../pages/page-error.js';
import { createPageOutgoing, createPageReader, type PageArguments } from '../pages/page-reader.js';
import { renderPage } from '../pages/render-page.js';
import { renderOutcome } from '../render.js';
import { createWebSearch } from '../web-search.js';

const HELP = `Usage: search <query> [--max-results N] [--json] [--searxng-endpoint URL]
       search --page URL [--part N] [--json]

Searches the web through SearXNG, or reads one page without it.

  <query>                  one or more words; quotes are optional
  --max-results N          number of results, 1 to ${MAX_RESULTS_CEILING} (default ${MAX_RESULTS_DEFAULT}; higher values are lowered)
  --json                   print the outcome, or {"error":{"code","message"}}, as JSON
  --searxng-endpoint URL   URL of SearXNG; default: SVC_SEARCH_ENDPOINT, else
                           ${DEFAULT_SEARCH_ENDPOINT};
                           credentials: http://user:password@host, or SVC_SEARCH_USERNAME and SVC_SEARCH_PASSWORD
  --page URL               read the page or PDF file at this address
  --part N                 which part of it (default 1)
  -h, --help               print this help

Exit codes:
  0  the search succeeded, possibly without results, or the page was read
  1  the search or the page failed, or the search engines failed
  2  invalid arguments`;

export interface Output {
  out(text: string): void;
  err(text: string): void;
}

interface Invocation {
  /** Set to read a page instead. */
  page: { args: PageArguments; privateHosts: string[] } | undefined;
  args: SearchArguments;
  endpoint: string;
  credentials: Credentials | undefined;
  proxy: OutgoingProxy;
  json: boolean;
}

/** Runs one search from the command line. @returns the exit code, as in the help text */
export async function runCli(
  argv: readonly string[],
  env: Record<string, string | undefined>,
  { out, err }: Output,
): Promise<number> {
  let invocation: Invocation | 'help';
  try {
    invocation = parse(argv, env);
  } catch (error) {
    err(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
    return 2;
  }
  if (invocation === 'help') {
    out(HELP);
    return 0;
  }
  const { json } = invocation;
  const shown = <Result>(result: Result, render: (result: Result) => string): void =>
    out(json ? JSON.stringify(result, null, 2) : render(result));
  try {
    if (invocation.page !== undefined) {
      shown(await readPage(invocation.page, invocation.proxy), renderPage);
      return 0;
    }
    const outcome = await search(invocation);
    shown(outcome, renderOutcome);
    return outcome.status === 'upstream_failed' ? 1 : 0;
  } catch (error) {
    if (!(error instanceof WebSearchError) && !(error instanceof PageError)) throw error;
    const { code, message } = error;
    if (json) out(JSON.stringify({ error: { code, message } }, null, 2));
    else err(message);
    return code === 'invalid_argument' ? 2 : 1;
  }
}

const search = ({ args, endpoint, credentials, proxy }: Invocation) =>
  createWebSearch({ endpoint, credentials, outgoing: createOutgoing(proxy) }).search(args);

async function readPage({ args, privateHosts }: NonNullable<Invocation['page']>, proxy: OutgoingProxy) {
  const outgoing = createPageOutgoing(proxy, privateHosts);
  const reader = createPageReader({ outgoing, privateHosts });
  try {
    return await reader.readPage(args);
  } finally {
    await reader.close();
    await outgoing.destroy();
  }
}

/** Text that is not a number is passed on: the rule rejects it with its own words. */
const numberOf = (text: string): number | string => (/^[-\d.]+$/.test(text) ? Number(text) : text);

function parse(argv: readonly string[], env: Record<string, string | undefined>): Invocation | 'help' {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      'max-results': { type: 'string' },
      page: { type: 'string' },
      part: { type: 'string' },
      'searxng-endpoint': { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return 'help';
  const { page: url, part, 'max-results': maxResults } = values;
  return {
    page:
      url === undefined
        ? undefined
        : {
            args: { url, ...(part === undefined ? {} : { part: numberOf(part) }) },
            privateHosts: loadPrivateHosts(env),
          },
    args: {
      query: positionals.join(' '),
      ...(maxResults === undefined ? {} : { max_results: numberOf(maxResults) }),
    },
    endpoint: resolveEndpoint({ flag: values['searxng-endpoint'], env }),
    credentials: loadCredentials(env),
    proxy: readProxy(env),
    json: values.json,
  };
}
