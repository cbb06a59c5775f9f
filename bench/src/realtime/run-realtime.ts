import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { CloseStack, silentLogger } from '@uswarm/service-kit';
import { goalTable } from '../report/goals.js';
import { BenchError, USAGE } from '../settings.js';
import type { PartResult, RealtimePart } from './part.js';
import { deliveryPart } from './delivery-part.js';
import { eventsPart } from './events-part.js';
import { faultsPart } from './faults-part.js';
import { questionPart } from './question-part.js';
import { relayPart } from './relay-part.js';
import { restartPart } from './restart-part.js';
import { resumePart } from './resume-part.js';
import { shardsPart } from './shards-part.js';
import { socketsPart } from './sockets-part.js';
import { stalledPart } from './stalled-part.js';
import { takeoverPart } from './takeover-part.js';
import { webhooksPart } from './webhooks-part.js';

const FOLDER = fileURLToPath(new URL('../../../.cache/bench-realtime', import.meta.url));

/** In the order in which they are measured. */
const PARTS: readonly RealtimePart[] = [
  relayPart,
  shardsPart,
  deliveryPart,
  eventsPart,
  socketsPart,
  stalledPart,
  resumePart,
  restartPart,
  questionPart,
  faultsPart,
  takeoverPart,
  webhooksPart,
];

/**
 * `npm run bench -- realtime`: measures the way of events from the database to clients, part by part. Prints tables with
 * goals and a JSON line.
 *
 * @throws BenchError
 */
export async function runRealtime(args: string[], say: (line: string) => void): Promise<void> {
  const { small, parts } = readSettings(args);
  const figures: Record<string, unknown> = {};
  const texts: string[] = [];
  for (const part of parts) {
    say(`${part.title}:`);
    const stack = new CloseStack(silentLogger);
    try {
      const result = await part.measure({ folder: join(FOLDER, part.name), small, stack, say });
      figures[part.name] = result.figures;
      texts.push(textOf(part, result));
    } finally {
      await stack.close();
    }
  }
  say(`\n${texts.join('\n\n')}\n\n${JSON.stringify({ small, figures })}`);
  if (small) say('Small run: the numbers are not meaningful.');
}

/** Markdown: the measurements, and the goals. */
export const textOf = ({ title }: Pick<RealtimePart, 'title'>, { heads, rows, goals }: PartResult): string =>
  [
    `## ${title}`,
    '',
    `| ${heads.join(' | ')} |`,
    `| --- |${' ---: |'.repeat(heads.length - 1)}`,
    ...rows.map((row) => `| ${row.join(' | ')} |`),
    '',
    goalTable(goals),
  ].join('\n');

function readSettings(args: string[]): { small: boolean; parts: readonly RealtimePart[] } {
  try {
    const { values } = parseArgs({ args, options: { small: { type: 'boolean' }, part: { type: 'string' } } });
    const parts = PARTS.filter(({ name }) => values.part === undefined || values.part === name);
    if (parts.length === 0) throw new Error(`--part must be one of ${PARTS.map(({ name }) => name).join(', ')}.`);
    return { small: values.small === true, parts };
  } catch (error) {
    throw new BenchError(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  }
}
