import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseJson } from '@uswarm/service-kit';
import { z } from 'zod';
import { BenchError } from '../settings.js';
import type { Result } from './result.js';

const RESULTS = fileURLToPath(new URL('../../results', import.meta.url));
const BASELINE = 'baseline.json';

/** The fields that a comparison reads; the rest is informational. */
const SavedResult = z.looseObject({
  format: z.literal(1),
  settings: z.record(z.string(), z.union([z.number(), z.boolean()])),
  ratios: z.record(z.string(), z.object({ value: z.number(), better: z.enum(['higher', 'lower']) })),
});

/** `2026-01-31T120000Z-<commit>.json`: names sort chronologically. */
export function resultName({ date, commit, changed }: Pick<Result, 'date' | 'commit' | 'changed'>): string {
  const time = date.replaceAll(':', '').replace(/\.\d+/, '');
  return `${time}-${commit.slice(0, 12)}${changed ? '-changed' : ''}.json`;
}

export function writeResult(result: Result, folder = RESULTS): string {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, resultName(result));
  writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`);
  return file;
}

/** @throws BenchError when the file does not exist */
export function newestFile(folder = RESULTS): string {
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => /^\d{4}-.*\.json$/.test(name)) : [];
  const newest = files.toSorted().at(-1);
  if (newest === undefined) throw new BenchError(`No results in ${folder}. Run npm run bench first.`);
  return join(folder, newest);
}

/** @throws BenchError when the file does not exist */
export function baselineFile(folder = RESULTS): string {
  const file = join(folder, BASELINE);
  if (!existsSync(file))
    throw new BenchError(`${file} not found. npm run bench -- --keep saves the newest result as the baseline.`);
  return file;
}

/** @throws BenchError if the file is not a benchmark result */
export function readResult(file: string): Result {
  const parsed = SavedResult.safeParse(parseJson(readFileSync(file, 'utf8')));
  if (!parsed.success) throw new BenchError(`${file} is not a benchmark result.`);
  return parsed.data as unknown as Result;
}

/** Saves the newest result as the baseline. @returns the newest result's file */
export function saveBaseline(folder = RESULTS): string {
  const file = newestFile(folder);
  readResult(file);
  writeFileSync(join(folder, BASELINE), readFileSync(file));
  return file;
}
