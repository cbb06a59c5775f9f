import { chatCommand, FIRST_QUESTION } from './commands.js';
import type { RunningLocal } from './running-local.js';

/** The text after startup: the URL, the credentials, the next command. */
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
    '',
    ...lines,
    '',
    'Next, in a second terminal:',
    '',
    `  ${chatCommand(FIRST_QUESTION, running)}`,
    ...(model.startsWith('demo') ? [`  ${chatCommand('show me everything', running)}`] : []),
    '',
    'Ctrl-C stops everything.',
  ].join('\n');
}
