import { readFile } from 'node:fs/promises';
import { z } from 'zod';

/** Id prefixes in document order. */
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
  /** The operation that the row depends on; the mutation check replaces its handler. */
  route: z.string().min(1).optional(),
});
export type Requirement = z.infer<typeof requirementSchema>;

/** A test that names a row. */
export const proofSchema = z.strictObject({
  id: z.string(),
  test: z.string(),
  status: z.enum(['passed', 'failed', 'skipped']),
  suite: suiteSchema,
  file: z.string(),
});
export type Proof = z.infer<typeof proofSchema>;

/** Records that tests in a suite ran, so that a suite without row names is judged too. */
export const runSchema = z.strictObject({ suite: suiteSchema, tests: z.int().nonnegative() });
export type LedgerRun = z.infer<typeof runSchema>;

export interface Results {
  proofs: Proof[];
  /** The suites that ran, in the order unit, int, e2e. */
  suites: Suite[];
}

/** Returns the distinct row ids in a test's full name. */
export function citedIds(testName: string): string[] {
  return [...new Set(testName.match(new RegExp(`\\b${ID}\\b`, 'g')))];
}

/**
 * Reads the ledger.
 * @throws Error if the file is not JSON or a row is invalid
 */
export async function loadLedger(path: string): Promise<Requirement[]> {
  return z.array(requirementSchema).parse(JSON.parse(await readFile(path, 'utf8')));
}

/** The file's text, as the formatter writes it. */
export function serializeLedger(rows: readonly Requirement[]): string {
  return `${JSON.stringify(rows, null, 2)}\n`;
}

const recordSchema = z.union([proofSchema, runSchema]);

/**
 * Parses the reporter's output, one JSON object per line.
 * @throws Error if a line is neither record
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
