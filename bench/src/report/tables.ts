import type { Comparison } from './compare.js';
import type { Result, Side } from './result.js';

/** Aligns columns: the first to the left, numbers to the right. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const cores = (value: number | null): string => (value === null ? '-' : value.toFixed(2));

function sideRow(name: string, side: string, { perSecond, latency, ...seen }: Side): string[] {
  const times = [latency.p50, latency.p95, latency.p99, latency.max].map((ms) => ms.toFixed(1));
  return [name, side, perSecond.toFixed(0), ...times, cores(seen.serverCores), cores(seen.generatorCores)];
}

/** Renders a run for the terminal. */
export function resultTables({ measurements, ratios, figures }: Result): string {
  const measured = Object.entries(measurements).flatMap(([name, { orchestrator, floor }]) => [
    sideRow(name, 'orchestrator', orchestrator),
    sideRow('', 'floor', floor),
  ]);
  return [
    table([['case', 'side', '1/s', 'p50 ms', 'p95', 'p99', 'max', 'server cores', 'generator cores'], ...measured]),
    table([['ratio to the floor', ''], ...Object.entries(ratios).map(([name, { value }]) => [name, value.toFixed(2)])]),
    table([
      ['promise', 'measured', 'met'],
      ...figures.map(({ promise, measured: seen, met }) => [promise, seen, met ? 'yes' : 'NO']),
    ]),
  ].join('\n\n');
}

export function comparisonTable(comparisons: readonly Comparison[]): string {
  const percent = (worse: number): string => `${worse > 0 ? '+' : ''}${(worse * 100).toFixed(0)} %`;
  return table([
    ['ratio to the floor', 'baseline', 'newest', 'worse by', ''],
    ...comparisons.map(({ name, baseline, newest, worse, tooMuch }) => [
      name,
      baseline.toFixed(2),
      newest.toFixed(2),
      percent(worse),
      tooMuch ? 'TOO MUCH' : '',
    ]),
  ]);
}
