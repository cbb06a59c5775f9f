import { readFile } from 'node:fs/promises';
import { z } from 'zod';

/** The id prefixes, in the order in which the two documents introduce them. */
export const PREFIXES = [
  'CONV',
  'ENUM',
  'RES',
  'STATE',
  'REST',
  'AUTH',
  'RT',
  'ERR',
  'LIM',
  'VER',
  'TOOL',
  'SEARX',
  'CRD',
  'ENV',
  'PHASE',
  'HOOK',
  'CTRL',
] as const;

const ID = `(?:${PREFIXES.join('|')})-\\d{3}`;

export const suiteSchema = z.enum(['unit', 'int', 'e2e']);
export type Suite = z.infer<typeof suiteSchema>;

export const requirementSchema = z.strictObject({
  id: z.string().regex(new RegExp(`^${ID}$`)),
  spec: z.string().regex(/^(orchestrator|supporting) §\d(\.\d+)?$/),
  text: z.string().trim().min(1),
  suite: suiteSchema,
  state: z.enum(['proven', 'open']),
  /** The operation whose handler the row depends on; the mutation check replaces it. */
  route: z.string().min(1).optional(),
});
export type Requirement = z.infer<typeof requirementSchema>;

/** One test that names one row. */
export const proofSchema = z.strictObject({
  id: z.string(),
  test: z.string(),
  status: z.enum(['passed', 'failed', 'skipped']),
  suite: suiteSchema,
  file: z.string(),
});
export type Proof = z.infer<typeof proofSchema>;

/** Says that tests of a suite ran, so that a suite that names no row is judged too. */
export const runSchema = z.strictObject({ suite: suiteSchema, tests: z.int().nonnegative() });
export type LedgerRun = z.infer<typeof runSchema>;

export interface Results {
  proofs: Proof[];
  /** The suites that ran, in the order unit, int, e2e. */
  suites: Suite[];
}

/** The row ids in a test's full name, each once. */
export function citedIds(testName: string): string[] {
  return [...new Set(testName.match(new RegExp(`\\b${ID}\\b`, 'g')))];
}

/**
 * Reads the ledger.
 * @throws when the file is no JSON or a row does not have the documented shape.
 */
export async function loadLedger(path: string): Promise<Requirement[]> {
  return z.array(requirementSchema).parse(JSON.parse(await readFile(path, 'utf8')));
}

/** The ledger's text on disk; stays as the formatter leaves it. */
export function serializeLedger(rows: readonly Requirement[]): string {
  return `${JSON.stringify(rows, null, 2)}\n`;
}

const recordSchema = z.union([proofSchema, runSchema]);

/**
 * Parses what the reporter appended, one JSON object a line.
 * @throws when a line is none of the two records.
 */
export function parseResults(jsonl: string): Results {
  const records = jsonl
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => recordSchema.parse(JSON.parse(line)));
  const ran = new Set(records.map((record) => record.suite));
  return {
    proofs: records.filter((record): record is Proof => 'id' in record),
    suites: suiteSchema.options.filter((suite) => ran.has(suite)),
  };
}
