import { relative } from 'node:path';
import { LocalError } from '@uswarm/dev-servers';
import { runAgents } from './agents/run-agents.js';
import { runController } from './controller/run-controller.js';
import { compare } from './report/compare.js';
import { baselineFile, saveBaseline, newestFile, readResult, writeResult } from './report/saved-results.js';
import { comparisonTable, resultTables } from './report/tables.js';
import { runRealtime } from './realtime/run-realtime.js';
import { run } from './run.js';
import { runSchedules } from './schedules/run-schedules.js';
import { runStarts } from './runtime/run-starts.js';
import { BenchError, readCommand, type Settings, USAGE } from './settings.js';

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const shown = (file: string): string => relative(process.cwd(), file);

async function measureAll(settings: Settings, only: string | undefined): Promise<number> {
  const result = await run(settings, only, say);
  say(`\n${resultTables(result)}\n`);
  if (settings.small) say('Small run: the numbers are not meaningful.');
  else if (only === undefined) say(`Saved in ${shown(writeResult(result))}`);
  return 0;
}

/** @returns 1 where a ratio got worse by more than is tolerated */
function compareKept(): number {
  const [baseline, newest] = [baselineFile(), newestFile()];
  const comparisons = compare(readResult(baseline), readResult(newest));
  say(`${shown(newest)} compared with ${shown(baseline)}\n\n${comparisonTable(comparisons)}`);
  return comparisons.some(({ tooMuch }) => tooMuch) ? 1 : 0;
}

async function main(args: string[]): Promise<number> {
  if (args[0] === 'runtime') {
    await runStarts(args.slice(1), say);
    return 0;
  }
  if (args[0] === 'agents') {
    await runAgents(args.slice(1), say);
    return 0;
  }
  if (args[0] === 'controller') {
    await runController(args.slice(1), say);
    return 0;
  }
  if (args[0] === 'schedules') {
    await runSchedules(args.slice(1), say);
    return 0;
  }
  if (args[0] === 'realtime') {
    await runRealtime(args.slice(1), say);
    return 0;
  }
  const command = readCommand(args);
  if (command.do === 'run') return measureAll(command.settings, command.only);
  if (command.do === 'compare') return compareKept();
  if (command.do === 'help') say(USAGE);
  else say(`The baseline is now ${shown(saveBaseline())}`);
  return 0;
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(130));

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof BenchError || error instanceof LocalError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
