import { chatCommand, FIRST_QUESTION } from './commands.js';
import type { RunningLocal } from './running-local.js';

/** Browsers give the sign-in its cryptography only at these addresses, or with TLS. */
const isLoopback = (url: string): boolean => ['127.0.0.1', 'localhost'].includes(new URL(url).hostname);

/** The text after startup: the page, the credentials, the next command. */
export function banner(running: RunningLocal): string {
  const { url, issuer, e2eToken, model, dataDirectory, shared } = running;
  const rows: [string, string][] = [
    ['issuer', issuer],
    [
      'ID token',
      `curl -s ${issuer}/dev/token -H 'content-type: application/json' -d '{"email":"ada@example.com","name":"Ada"}'`,
    ],
    ...(e2eToken === undefined ? [] : [['E2E token', 'see E2E_TOKEN'] satisfies [string, string]]),
    ['model', model],
    ['search', running.search()],
    ['data', dataDirectory],
    ...(shared
      ? [['network', 'every machine that reaches this one can sign in as any user'] satisfies [string, string]]
      : []),
  ];
  const lines = rows.map(([name, value]) => `  ${name.padEnd(10)}${value}`);
  return [
    '',
    `uswarm is running at ${url}`,
    ...(isLoopback(url) ? ['Open this page in a browser. It signs you in with one click.'] : []),
    '',
    ...lines,
    '',
    'Or chat in a second terminal:',
    '',
    `  ${chatCommand(FIRST_QUESTION, running)}`,
    ...(model.startsWith('demo') ? [`  ${chatCommand('show me everything', running)}`] : []),
    '',
    'Ctrl-C stops everything.',
  ].join('\n');
}
