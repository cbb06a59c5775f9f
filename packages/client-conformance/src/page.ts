import { MUTANTS } from './mutants/index.js';
import { GROUPS } from './scenarios/index.js';

const START = '<!-- scenarios: npm run generate -->';
const END = '<!-- end of scenarios -->';
const FAULTS = 'A test plants each of these faults into `@uswarm/client`, and requires that the scenarios fail.';

/** Puts the scenarios and the planted faults into docs/client-conformance.md, between its two comments. @throws Error without them */
export function withTables(page: string): string {
  const [before, rest] = [page.split(START)[0], page.split(END)[1]];
  if (before === undefined || rest === undefined || before === page) throw new Error(`The page has no ${START}`);
  const tables = Object.entries(GROUPS).map(([heading, scenarios]) => {
    const rows = scenarios.map(({ name, shows, why, only }) => {
      const transport = only === undefined ? '' : ` (${only === 'sse' ? 'SSE' : 'socket'} only)`;
      return [`\`${name}\`${transport}`, shows, why];
    });
    return `### ${heading}\n\n${table(['scenario', 'what a client shows', 'why'], rows)}`;
  });
  const faults = MUTANTS.map(({ name, fails }) => [`It ${name}.`, fails.map((each) => `\`${each}\``).join(', ')]);
  const mutants = `## Planted faults\n\n${FAULTS}\n\n${table(['fault of the client', 'scenarios that it fails'], faults)}`;
  return `${before}${START}\n\n${[...tables, mutants].join('\n\n')}\n\n${END}${rest}`;
}

/** As the formatter writes it. */
function table(head: string[], rows: string[][]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (cells: string[]) => `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
