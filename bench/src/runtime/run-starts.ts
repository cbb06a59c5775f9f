import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BenchError, USAGE } from '../settings.js';
import { measureStart, type StartFigures } from './measure-start.js';
import { startCases } from './start-cases.js';
import { medians, startTable } from './start-table.js';

const DEFAULT_ROUNDS = 11;

/**
 * `npm run bench -- runtime`: compares agent runtime starts with Node.js starts. Each round starts every case once, in
 * rotating order. Prints a table and a JSON line.
 *
 * @throws BenchError
 */
export async function runStarts(args: string[], say: (line: string) => void): Promise<void> {
  const rounds = readRounds(args);
  if (process.platform !== 'linux')
    throw new BenchError('Only supported on Linux: CPU time and memory are read from /proc.');
  const folder = mkdtempSync(join(tmpdir(), 'uswarm-bench-'));
  try {
    const cases = await startCases(folder);
    const measured = new Map<string, StartFigures[]>(cases.map(({ name }) => [name, []]));
    for (let round = 0; round < rounds; round += 1) {
      const first = round % cases.length;
      for (const each of [...cases.slice(first), ...cases.slice(0, first)]) {
        measured.get(each.name)?.push(await measureStart(each));
      }
    }
    const rows = [...measured].map(([name, all]) => ({ name, figures: medians(all) }));
    say(`Medians of ${rounds} starts each.\n\n${startTable(rows)}\n\n${JSON.stringify({ rounds, rows })}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function readRounds(args: string[]): number {
  try {
    const { values } = parseArgs({ args, options: { rounds: { type: 'string' } } });
    const rounds = Number(values.rounds ?? DEFAULT_ROUNDS);
    if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds must be a positive integer.');
    return rounds;
  } catch (error) {
    throw new BenchError(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  }
}
