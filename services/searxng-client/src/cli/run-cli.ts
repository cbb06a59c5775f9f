import { parseArgs } from 'node:util';
import { createOutgoing, type OutgoingProxy, readProxy } from '@uswarm/service-kit/outgoing';
import { MAX_RESULTS_CEILING, MAX_RESULTS_DEFAULT, type SearchArguments } from '../arguments.js';
import { loadCredentials } from '../config.js';
import { type Credentials, DEFAULT_SEARCH_ENDPOINT, resolveEndpoint } from '../endpoint.js';
import { WebSearchError } from '../errors.js';
import { renderOutcome } from '../render.js';
import { createWebSearch } from '../web-search.js';

const HELP = `Usage: search <query> [--max-results N] [--json] [--searxng-endpoint URL]

Searches the web through SearXNG.

  <query>                  one or more words; quotes are optional
  --max-results N          number of results, 1 to ${MAX_RESULTS_CEILING} (default ${MAX_RESULTS_DEFAULT}; higher values are lowered)
  --json                   print the outcome, or {"error":{"code","message"}}, as JSON
  --searxng-endpoint URL   URL of SearXNG; default: SVC_SEARCH_ENDPOINT, else
                           ${DEFAULT_SEARCH_ENDPOINT};
                           credentials: http://user:password@host, or SVC_SEARCH_USERNAME and SVC_SEARCH_PASSWORD
  -h, --help               print this help

Exit codes:
  0  the search succeeded, possibly without results
  1  the search failed, or the search engines failed
  2  invalid arguments`;

export interface Output {
  out(text: string): void;
  err(text: string): void;
}

interface Invocation {
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
  const { args, endpoint, credentials, proxy, json } = invocation;
  const outgoing = createOutgoing(proxy);
  try {
    const outcome = await createWebSearch({ endpoint, credentials, outgoing }).search(args);
    out(json ? JSON.stringify(outcome, null, 2) : renderOutcome(outcome));
    return outcome.status === 'upstream_failed' ? 1 : 0;
  } catch (error) {
    if (!(error instanceof WebSearchError)) throw error;
    const { code, message } = error;
    if (json) out(JSON.stringify({ error: { code, message } }, null, 2));
    else err(message);
    return code === 'invalid_argument' ? 2 : 1;
  }
}

function parse(argv: readonly string[], env: Record<string, string | undefined>): Invocation | 'help' {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      'max-results': { type: 'string' },
      'searxng-endpoint': { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return 'help';
  const maxResults = values['max-results'];
  return {
    args: {
      query: positionals.join(' '),
      // Text that is not a number is passed on: the search rejects it with the rule.
      ...(maxResults === undefined
        ? {}
        : { max_results: /^[-\d.]+$/.test(maxResults) ? Number(maxResults) : maxResults }),
    },
    endpoint: resolveEndpoint({ flag: values['searxng-endpoint'], env }),
    credentials: loadCredentials(env),
    proxy: readProxy(env),
    json: values.json,
  };
}
