import type { RunningLocal } from './local-mode.js';

/** The text after startup: the URL, the credentials, the next command. */
export function banner(running: RunningLocal, environment: Record<string, string | undefined>): string {
  const { url, issuer, e2eToken, model, search, dataDirectory } = running;
  // The chat finds local mode by its data folder.
  const elsewhere = (environment['USWARM_DATA_DIR'] ?? '') === '' ? '' : `USWARM_DATA_DIR=${quoted(dataDirectory)} `;
  const rows: [string, string][] = [
    ['issuer', issuer],
    [
      'ID token',
      `curl -s ${issuer}/dev/token -H 'content-type: application/json' -d '{"email":"ada@example.com","name":"Ada"}'`,
    ],
    ...(e2eToken === undefined ? [] : [['E2E token', 'see E2E_TOKEN'] satisfies [string, string]]),
    ['model', model],
    ['search', search],
    ['data', dataDirectory],
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
    `  ${elsewhere}npm run chat -- "Search the web for green tea and answer with sources"`,
    ...(model.startsWith('demo') ? [`  ${elsewhere}npm run chat -- "show me everything"`] : []),
    '',
    'Ctrl-C stops everything.',
  ].join('\n');
}

/** A word of a shell command. */
const quoted = (text: string): string => (/^[\w./:@+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
