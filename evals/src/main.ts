import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { LocalError } from '@uswarm/dev-servers';
import { z } from 'zod';
import type { Trial } from './run/run-task.js';
import { runAll } from './run/run-all.js';
import { type Prices, summarize, table } from './score/report.js';
import { readSettings, type Settings, UsageError, USAGE } from './settings.js';
import { startLlamaProvider } from './stack/llama-provider.js';
import { HarnessError } from './stack/local-program.js';
import { startStack } from './stack/stack.js';
import { loadTasks, TaskError } from './tasks/load-tasks.js';
import { SELECTIONS } from './tasks/selections.js';
import type { Task } from './tasks/task.js';

const ROOT = join(import.meta.dirname, '..', '..');
const RESULTS = join(import.meta.dirname, '..', 'results');
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const Catalogue = z.array(
  z.object({
    id: z.string(),
    providers: z.record(z.string(), z.object({ prices: z.object({ input: z.number(), output: z.number() }) })),
  }),
);

/** The default model's prices. They are an estimate: the catalogue has no prices for self-hosted servers. */
function pricesOf({ providerName }: Settings): Prices {
  const file = join(ROOT, 'services/orchestrator/config/models.json');
  const models = Catalogue.parse(JSON.parse(readFileSync(file, 'utf8')));
  const flash = models.find(({ id }) => id === 'flash');
  return flash?.providers[providerName]?.prices ?? { input: 0, output: 0 };
}

/** @throws UsageError if a name selects nothing */
function selected(tasks: readonly Task[], only: readonly string[]): Task[] {
  const names = only.flatMap((name) => SELECTIONS[name] ?? [name]);
  const unknown = names.find((name) => !tasks.some(({ id, category }) => id === name || category === name));
  if (unknown !== undefined)
    throw new UsageError(`There is no task, category or selection ${unknown}. Try npm run eval -- --list.`);
  return tasks.filter(({ id, category }) => names.length === 0 || names.includes(id) || names.includes(category));
}

function describe({ task, passed, problems, harnessError, seconds }: Trial): string {
  const state = harnessError === undefined ? (passed ? 'pass' : 'FAIL') : 'ERROR';
  const lines = harnessError === undefined ? problems : [harnessError];
  return [`${state.padEnd(5)} ${task} (${seconds.toFixed(1)} s)`, ...lines.map((line) => `        ${line}`)].join('\n');
}

function save(settings: Settings, result: object): string {
  const time = new Date().toISOString().replaceAll(':', '-').slice(0, 19);
  const file = settings.out ?? join(RESULTS, `${time}-${settings.providerName}.json`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(result, undefined, 2)}\n`);
  return relative(process.cwd(), file);
}

/** The provider for local mode. A model on this machine is started, and stops with `started`. */
async function providerOf({ provider }: Settings, started: AsyncDisposableStack) {
  if (provider === 'scripted') return provider;
  if ('env' in provider) return provider.env;
  const { env, close } = await startLlamaProvider(provider.llama, say);
  started.defer(close);
  return env;
}

async function evaluate(settings: Settings): Promise<number> {
  const tasks = selected(loadTasks(), settings.only);
  const startedAt = new Date();
  await using started = new AsyncDisposableStack();
  const stack = await startStack(await providerOf(settings, started));
  started.defer(stack.close);
  const { repeat, concurrency, deadlineMs } = settings;
  const script = settings.provider === 'scripted' ? settings.script : undefined;
  const onTrial = (trial: Trial): void => say(describe(trial));
  const trials = await runAll(stack, { tasks, repeat, concurrency, deadlineMs, script, onTrial });
  const rows = summarize(trials, pricesOf(settings));
  const { providerName: provider, model } = settings;
  const about = { provider, model, script, repeat, started_at: startedAt.toISOString() };
  say(`\n${table(rows)}\n`);
  say(`Saved in ${save(settings, { ...about, rows, trials })}`);
  return trials.some(({ harnessError }) => harnessError !== undefined) ? 1 : 0;
}

async function main(args: readonly string[]): Promise<number> {
  const settings = readSettings(args, process.env);
  if (settings === 'help') say(USAGE);
  else if (settings === 'list') for (const { id, category, shows } of loadTasks()) say(`${category}  ${id}: ${shows}`);
  else return evaluate(settings);
  return 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const isExpected = [UsageError, TaskError, HarnessError, LocalError].some((kind) => error instanceof kind);
  process.stderr.write(`${isExpected ? (error as Error).message : (error as Error).stack}\n`);
  process.exitCode = 1;
}
