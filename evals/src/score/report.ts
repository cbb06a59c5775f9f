import type { Trial } from '../run/run-task.js';
import { CATEGORIES } from '../tasks/task.js';
import { passHatK } from './pass-k.js';

/** Micro-USD per million tokens, as in the model catalogue. */
export interface Prices {
  input: number;
  output: number;
}

export interface Row {
  category: string;
  tasks: number;
  trials: number;
  /** Runs that could not be judged; they count in no other column. */
  harnessErrors: number;
  pass1: number | null;
  /** Null if a task has fewer than four judged runs. */
  pass4: number | null;
  /** Model calls. */
  calls: number;
  tokens: number;
  usd: number;
  seconds: number;
}

const K = 4;
const MILLION = 1_000_000;

/** The mean over tasks; null if a task has too few trials. */
function meanPass(trials: readonly Trial[], k: number): number | null {
  const byTask = Map.groupBy(trials, ({ task }) => task);
  const each = [...byTask.values()].map((of) => passHatK(of.length, of.filter(({ passed }) => passed).length, k));
  if (each.length === 0 || each.includes(undefined)) return null;
  return each.reduce<number>((sum, one) => sum + (one ?? 0), 0) / each.length;
}

function rowOf(category: string, all: readonly Trial[], prices: Prices): Row {
  const trials = all.filter(({ harnessError }) => harnessError === undefined);
  const sum = (value: (trial: Trial) => number): number => trials.reduce((total, trial) => total + value(trial), 0);
  const microUsd = sum((trial) => trial.promptTokens * prices.input + trial.completionTokens * prices.output) / MILLION;
  return {
    category,
    tasks: new Set(all.map(({ task }) => task)).size,
    trials: trials.length,
    harnessErrors: all.length - trials.length,
    pass1: meanPass(trials, 1),
    pass4: meanPass(trials, K),
    calls: sum(({ modelCalls }) => modelCalls),
    tokens: sum(({ promptTokens, completionTokens }) => promptTokens + completionTokens),
    usd: microUsd / MILLION,
    seconds: sum(({ seconds }) => seconds),
  };
}

/** One row per category that has runs, and one for all. */
export function summarize(trials: readonly Trial[], prices: Prices): Row[] {
  const categories = CATEGORIES.filter((category) => trials.some((trial) => trial.category === category));
  return [
    ...categories.map((category) =>
      rowOf(
        category,
        trials.filter((trial) => trial.category === category),
        prices,
      ),
    ),
    rowOf('all', trials, prices),
  ];
}

const percent = (value: number | null): string => (value === null ? '–' : `${(100 * value).toFixed(1)} %`);

/** The rows as a table for a terminal. */
export function table(rows: readonly Row[]): string {
  const head = ['category', 'tasks', 'runs', 'pass^1', 'pass^4', 'calls', 'tokens', 'cost (USD)', 'time (s)'];
  const cells = rows.map((row) => [
    row.category,
    String(row.tasks),
    row.harnessErrors === 0 ? String(row.trials) : `${row.trials} (+${row.harnessErrors} errors)`,
    percent(row.pass1),
    percent(row.pass4),
    row.calls.toLocaleString('en-US'),
    row.tokens.toLocaleString('en-US'),
    row.usd.toFixed(4),
    row.seconds.toFixed(1),
  ]);
  const lines = [head, ...cells];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
