import type { Result } from './run.js';
import type { Scenario } from './scenario.js';

/** Renders the result table and the failure reasons for a terminal. */
export function report(scenarios: readonly Scenario[], results: readonly Result[], ms: number): string {
  const width = Math.max(...scenarios.map(({ name }) => name.length));
  const rows = scenarios.map(({ name, shows }, index) => {
    const result = results[index];
    return `${result?.passed === true ? 'passed' : 'FAILED'}  ${name.padEnd(width)}  ${shows}`;
  });
  const failed = results.filter(({ passed }) => !passed);
  const reasons = failed.map(({ scenario, problem, log }) => {
    const why = scenarios.find(({ name }) => name === scenario)?.why;
    const output = log.trim() === '' ? '' : `\n  standard error of the client:\n${indent(log.trim(), 4)}`;
    return `\n${scenario}\n  rule: ${why}\n  ${problem}${output}`;
  });
  const seconds = (ms / 1_000).toFixed(1);
  return [
    ...rows,
    ...reasons,
    '',
    `${results.length - failed.length} of ${results.length} scenarios passed in ${seconds} s.`,
  ].join('\n');
}

/** The scenarios without a run. */
export function list(groups: Readonly<Record<string, readonly Scenario[]>>): string {
  return Object.entries(groups)
    .flatMap(([heading, scenarios]) => [
      heading,
      ...scenarios.map(({ name, shows, only }) => `  ${name}${only === undefined ? '' : ` (${only} only)`}: ${shows}`),
    ])
    .join('\n');
}

const indent = (text: string, by: number) => text.replaceAll(/^/gm, ' '.repeat(by));
