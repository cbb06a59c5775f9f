import { parseArgs } from 'node:util';
import { MAX_RESULTS_CEILING, MAX_RESULTS_DEFAULT, type SearchArguments } from '../arguments.js';
import { DEFAULT_SEARCH_ENDPOINT, resolveEndpoint } from '../endpoint.js';
import { WebSearchError } from '../errors.js';
import { renderOutcome } from '../render.js';
import { createWebSearch } from '../web-search.js';

const HELP = `Usage: search <query> [--max-results N] [--json] [--searxng-endpoint URL]

Searches the web through SearXNG.

  <query>                  what to search for; several words need no quotes
  --max-results N          how many results, 1 to ${MAX_RESULTS_CEILING} (default ${MAX_RESULTS_DEFAULT}; more counts as ${MAX_RESULTS_CEILING})
  --json                   print the outcome, or {"error":{"code","message"}}, as JSON
  --searxng-endpoint URL   the SearXNG to ask; else SVC_SEARCH_ENDPOINT, else
                           ${DEFAULT_SEARCH_ENDPOINT}
  -h, --help               print this

Exit codes:
  0  the search engines answered (perhaps with no results)
  1  the search failed, or no search engine gave an answer to go by
  2  the arguments are wrong`;

export interface Output {
  out(text: string): void;
  err(text: string): void;
}

interface Invocation {
  args: SearchArguments;
  endpoint: string;
  json: boolean;
}

/** One search from the command line. @returns the exit code: 0, 1 or 2 as the help text has it. */
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
  const { args, endpoint, json } = invocation;
  try {
    const outcome = await createWebSearch({ endpoint }).search(args);
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
      // What is no number stays text, which the search refuses with the rule it breaks.
      ...(maxResults === undefined
        ? {}
        : { max_results: /^[-\d.]+$/.test(maxResults) ? Number(maxResults) : maxResults }),
    },
    endpoint: resolveEndpoint({ flag: values['searxng-endpoint'], env }),
    json: values.json,
  };
}
