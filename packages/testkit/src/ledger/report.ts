import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { judge, renderTable, withVerdicts, type Judgement } from './judgement.js';
import { loadLedger, parseResults, serializeLedger, suiteSchema, type Suite } from './ledger.js';

export interface ReportOptions {
  ledger: string;
  results: string;
  /** The suites to judge, even if they did not run. Default: the suites that ran. */
  suites?: readonly Suite[];
  /** Update the states in the ledger instead of reporting differences. */
  write?: boolean;
  /** Count a skipped proof as missing. */
  skipsAreErrors?: boolean;
}

export interface Report {
  lines: string[];
  ok: boolean;
}

/**
 * Compares the ledger with the results of a complete run.
 * @throws Error if a file is missing or malformed
 */
export async function report(options: ReportOptions): Promise<Report> {
  const rows = await loadLedger(options.ledger);
  const results = parseResults(await readFile(options.results, 'utf8'));
  const { suites = results.suites, write = false, skipsAreErrors = false } = options;
  const judgement = judge(rows, results, { suites, skipsAreErrors });
  if (write) {
    await writeFile(options.ledger, serializeLedger(withVerdicts(rows, judgement.judged)));
  }
  const stateErrors = describeStates(judgement);
  const unknown = judgement.unknown.map(
    ({ id, test, file }) => `error: ${file} names ${id}, which the ledger does not have: ${test}`,
  );
  return {
    lines: [
      `Requirement ledger, judged by: ${suites.join(', ') || 'nothing'}`,
      ...renderTable(judgement.judged),
      ...(write ? describeChanges(judgement) : stateErrors),
      ...judgement.skipped.map(({ row }) => `skipped: ${row.id} keeps its state, its tests did not run here`),
      ...unknown,
    ],
    ok: unknown.length === 0 && (write || stateErrors.length === 0),
  };
}

function describeStates({ lost, unmarked }: Judgement): string[] {
  return [
    ...lost.map(({ row, verdict }) =>
      verdict === 'failed'
        ? `error: ${row.id} is marked proven, but a test that names it fails`
        : `error: ${row.id} is marked proven, but no passing ${row.suite} test names it`,
    ),
    ...unmarked.map(({ row }) => `error: ${row.id} has a passing test: mark it proven (--write)`),
  ];
}

// A skipped proof never changes a state, even if it counts as an error.
function describeChanges({ lost, unmarked }: Judgement): string[] {
  return [
    ...lost.filter(({ verdict }) => verdict !== 'skipped').map(({ row }) => `written: ${row.id} open`),
    ...unmarked.map(({ row }) => `written: ${row.id} proven`),
  ];
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      ledger: { type: 'string', default: 'docs/requirements.json' },
      results: { type: 'string' },
      suite: { type: 'string', multiple: true },
      write: { type: 'boolean', default: false },
    },
  });
  const results = values.results ?? process.env['USWARM_LEDGER_FILE'];
  if (!results) throw new Error('name the results by --results or USWARM_LEDGER_FILE');
  const { lines, ok } = await report({
    ledger: values.ledger,
    results,
    ...(values.suite && { suites: suiteSchema.array().parse(values.suite) }),
    write: values.write,
    skipsAreErrors: process.env['CI'] === 'true',
  });
  console.log(lines.join('\n'));
  process.exitCode = ok ? 0 : 1;
}

if (import.meta.main) {
  await main().catch((error: unknown) => {
    console.error(`ledger report: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  });
}
