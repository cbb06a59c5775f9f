import { PREFIXES, type Proof, type Requirement, type Results, type Suite } from './ledger.js';

/** `skipped`: all tests in the row's suite that name it were skipped. */
export type Verdict = 'proven' | 'failed' | 'skipped' | 'unproven';

export interface JudgedRow {
  row: Requirement;
  verdict: Verdict;
}

export interface Judgement {
  /** All rows in the judged suites, in ledger order. */
  judged: JudgedRow[];
  /** Marked as proven without a passing test. */
  lost: JudgedRow[];
  /** Proven by this run but marked as open. */
  unmarked: JudgedRow[];
  /** Marked as proven, but all tests were skipped. */
  skipped: JudgedRow[];
  /** Tests that name an unknown row. */
  unknown: Proof[];
}

/**
 * Returns a run's verdict on a row. A failing test in any suite disproves the row. Only a passing test in the row's
 * suite proves it.
 */
export function verdictOf(row: Requirement, proofs: readonly Proof[]): Verdict {
  const naming = proofs.filter((proof) => proof.id === row.id);
  if (naming.some((proof) => proof.status === 'failed')) return 'failed';
  const own = naming.filter((proof) => proof.suite === row.suite);
  if (own.some((proof) => proof.status === 'passed')) return 'proven';
  return own.length > 0 ? 'skipped' : 'unproven';
}

/**
 * Judges the rows of `suites`; by default the suites that ran. With `skipsAreErrors`, a skipped proof counts as
 * missing.
 */
export function judge(
  rows: readonly Requirement[],
  results: Results,
  options: { suites?: readonly Suite[]; skipsAreErrors?: boolean } = {},
): Judgement {
  const { suites = results.suites, skipsAreErrors = false } = options;
  const judged = rows
    .filter((row) => suites.includes(row.suite))
    .map((row) => ({ row, verdict: verdictOf(row, results.proofs) }));
  const notProven = judged.filter(({ row, verdict }) => row.state === 'proven' && verdict !== 'proven');
  const excused = (entry: JudgedRow) => entry.verdict === 'skipped' && !skipsAreErrors;
  const known = new Set(rows.map((row) => row.id));
  return {
    judged,
    lost: notProven.filter((entry) => !excused(entry)),
    unmarked: judged.filter(({ row, verdict }) => row.state === 'open' && verdict === 'proven'),
    skipped: notProven.filter(excused),
    unknown: results.proofs.filter((proof) => !known.has(proof.id)),
  };
}

/** Updates the states in the ledger. Skipped and unjudged rows keep theirs. */
export function withVerdicts(rows: readonly Requirement[], judged: readonly JudgedRow[]): Requirement[] {
  const verdicts = new Map(judged.map(({ row, verdict }) => [row.id, verdict]));
  return rows.map((row) => {
    const verdict = verdicts.get(row.id);
    if (verdict === undefined || verdict === 'skipped') return row;
    return { ...row, state: verdict === 'proven' ? 'proven' : 'open' };
  });
}

/** A text table of proven and open rows per prefix with a total. */
export function renderTable(judged: readonly JudgedRow[]): string[] {
  const line = (name: string, entries: readonly JudgedRow[]) => {
    const proven = entries.filter(({ verdict }) => verdict === 'proven').length;
    return columns(name, entries.length, proven, entries.length - proven);
  };
  const groups = PREFIXES.map((prefix) => ({
    prefix,
    entries: judged.filter(({ row }) => row.id.startsWith(`${prefix}-`)),
  })).filter(({ entries }) => entries.length > 0);
  return [
    columns('', 'rows', 'proven', 'open'),
    ...groups.map(({ prefix, entries }) => line(prefix, entries)),
    line('all', judged),
  ];
}

function columns(name: string, ...cells: (string | number)[]): string {
  return name.padEnd(6) + cells.map((cell) => String(cell).padStart(8)).join('');
}
