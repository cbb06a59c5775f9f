import type { Dialect, DialectResult } from './dialect.js';

const TITLES: Readonly<Record<string, string>> = {
  calls: 'Tool calls',
  text: 'Text',
  transport: 'Transport',
  end: 'End of a response',
  http: 'Failures and refusals',
  size: 'Refusals for size',
  parts: 'Refused parts of a request',
  messages: 'Messages protocol',
};

const OUTCOMES = { length: 'length', refused: 'refused', unknown: 'incomplete' } as const;

const seconds = (ms: number): string => `${ms / 1_000} s`;

/** The expected outcome in a few words. */
function outcomeOf({
  text,
  finish,
  calls = [],
  error,
  contextOverflow,
  contextLimit,
  says,
  requests,
  usage,
  waits = [],
}: DialectResult): string {
  const parts = [
    ...(text === '' ? [] : ['text']),
    ...(calls.length === 0 ? [] : [calls.length === 1 ? 'one call' : `${calls.length} calls`]),
    ...(finish === undefined || finish === 'answered' || finish === 'calls' ? [] : [OUTCOMES[finish]]),
    ...(error === undefined
      ? []
      : [
          `\`${error}\`${contextOverflow === true ? `, then ${contextLimit === undefined ? 'a smaller prompt' : `a window of ${contextLimit} tokens`}` : ''}`,
        ]),
    ...(says === undefined ? [] : [`“${says}”`]),
    ...(requests > 1 ? [`${requests} requests`] : []),
    ...(waits.length > 0 ? [`waits ${waits.map(seconds).join(' and ')}`] : []),
    usage.length === 0 ? 'no usage' : `usage ${usage.join(' and ')}`,
  ];
  return parts.join('; ');
}

const speaks = ({ protocol }: Dialect, provider: string): string =>
  protocol === 'both' || protocol === provider ? '✓' : '';

/** Cells with the padding that the repository's formatter expects. */
function align(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[], filler: string): string =>
    `| ${widths.map((width, column) => (cells[column] ?? '').padEnd(width, filler)).join(' | ')} |`;
  const [head = [], ...body] = rows;
  return [line(head, ' '), line([], '-'), ...body.map((row) => line(row, ' '))].join('\n');
}

function rowOf(dialect: Dialect): string[] {
  const { hostname, pathname } = new URL(dialect.source);
  const link = `[${hostname.endsWith('github.com') ? pathname.slice(1) : hostname}](${dialect.source})`;
  const providers = [speaks(dialect, 'openai'), speaks(dialect, 'anthropic')];
  return [dialect.name, dialect.server, ...providers, outcomeOf(dialect.expected), link];
}

const HEAD = ['behavior', 'server', 'openai', 'anthropic', 'outcome', 'source'];

const INTRODUCTION = `# Dialects of model servers

Servers of the chat completions protocol and of the Messages protocol deviate from their documentation and from each
other. Each row is a behavior of a real server, which the model server of the tests reproduces
(\`packages/dev-servers/src/model/dialects\`), and the outcome that each provider of the runtime produces
(\`services/agent-runtime/src/models/dialects.test.ts\`). To add a row, add a file with its source, then run
\`npm run generate\`, which writes this page.`;

/** The page docs/dialects.md. */
export const dialectsPage = (dialects: Readonly<Record<string, readonly Dialect[]>>): string =>
  `${[
    INTRODUCTION,
    ...Object.entries(dialects).flatMap(([group, members]) => [
      `## ${TITLES[group] ?? group}`,
      align([HEAD, ...members.map(rowOf)]),
    ]),
  ].join('\n\n')}\n`;
