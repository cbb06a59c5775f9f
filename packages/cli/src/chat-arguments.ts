import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { type CommandLineOutput, httpOrigin } from './command-line.js';

export interface ChatArguments {
  /** Undefined starts an interactive chat. */
  message: string | undefined;
  json: boolean;
  /** Replaces the URL in local.json. */
  url: string | undefined;
  email: string;
  name: string;
  dataDir: string;
}

interface Options {
  json?: boolean;
  url?: string;
  email: string;
  name: string;
  dataDir?: string;
}

const DEFAULT_DATA_DIR = fileURLToPath(new URL('../../../.data', import.meta.url));

/**
 * Parses the command line of `npm run chat`.
 *
 * @throws CommanderError after help or a usage error was printed
 */
export function parseChatArguments(
  args: readonly string[],
  env: Record<string, string | undefined>,
  output: CommandLineOutput = {},
): ChatArguments {
  const command = new Command('npm run chat --')
    .description(
      'Send a message to the agents and print their answer while it is streamed.\n' +
        'Without a message, start an interactive chat. The user is signed up on first use.',
    )
    .argument('[message...]', 'the message')
    .option('--json', 'print each event as one line of JSON: {"event", "payload"}')
    .option('--url <url>', 'address of uswarm (default: the address of the running npm start)', httpOrigin)
    .option('--email <email>', 'e-mail address of the user', 'me@example.com')
    .option('--name <name>', 'name of the user', 'Me')
    .option('--data-dir <dir>', 'data folder of npm start (default: USWARM_DATA_DIR, else .data)')
    .showHelpAfterError('See: npm run chat -- --help')
    .configureOutput(output)
    .exitOverride()
    .parse(args, { from: 'user' });
  const { json = false, url, email, name, dataDir } = command.opts<Options>();
  const message = command.args.join(' ').trim();
  return {
    message: message === '' ? undefined : message,
    json,
    url,
    email,
    name,
    dataDir: resolve(dataDir ?? (env['USWARM_DATA_DIR'] || DEFAULT_DATA_DIR)),
  };
}
