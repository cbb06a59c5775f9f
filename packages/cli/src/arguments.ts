import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { Failure } from './failure.js';

export interface ChatArguments {
  /** Undefined asks for an interactive chat. */
  question: string | undefined;
  json: boolean;
  help: boolean;
  /** Replaces the address in local.json. */
  url: string | undefined;
  email: string;
  name: string;
  dataDir: string;
}

export const USAGE = `Usage: npm run chat -- [question] [options]

Signs up, waits for the workspace, sends the question and shows the answer as it comes.
Without a question it is an interactive chat.

  --json          print every event as one line of JSON: {"event", "payload"}
  --url URL       the address of uswarm (default: what npm start wrote)
  --email EMAIL   who asks (default: me@example.com)
  --name NAME     the name of who asks (default: Me)
  --data-dir DIR  the data folder of npm start (default: USWARM_DATA_DIR, else .data)
  --help          print this
`;

const OPTIONS = {
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
  url: { type: 'string' },
  email: { type: 'string', default: 'me@example.com' },
  name: { type: 'string', default: 'Me' },
  'data-dir': { type: 'string' },
} as const satisfies ParseArgsConfig['options'];

const DEFAULT_DATA_DIR = fileURLToPath(new URL('../../../.data', import.meta.url));

/**
 * Reads the command line.
 * @throws Failure on an unknown option, a missing value or a URL that is none.
 */
export function parseChatArguments(args: readonly string[], env: Record<string, string | undefined>): ChatArguments {
  const { values, positionals } = parseOrFail(args);
  const question = positionals.join(' ').trim();
  return {
    question: question === '' ? undefined : question,
    json: values.json,
    help: values.help,
    url: values.url === undefined ? undefined : httpUrl(values.url),
    email: values.email,
    name: values.name,
    dataDir: resolve(values['data-dir'] ?? (env['USWARM_DATA_DIR'] || DEFAULT_DATA_DIR)),
  };
}

function parseOrFail(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (cause) {
    // Node's own text goes on with advice about `--`, which npm has used up.
    const [reason] = (cause as Error).message.split(/\.\s|\n/);
    throw new Failure(`${reason?.replace(/\.$/, '')}. See: npm run chat -- --help`, { cause });
  }
}

function httpUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new Failure(`--url must be an http or https address, not ${text}`);
  }
  return url.origin;
}
