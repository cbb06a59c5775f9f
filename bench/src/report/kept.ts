import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseJson } from '@uswarm/service-kit';
import { z } from 'zod';
import { BenchError } from '../settings.js';
import type { Result } from './result.js';

const RESULTS = fileURLToPath(new URL('../../results', import.meta.url));
const BASELINE = 'baseline.json';

/** What comparing looks at; the rest of a result is for people. */
const Kept = z.looseObject({
  format: z.literal(1),
  settings: z.record(z.string(), z.union([z.number(), z.boolean()])),
  ratios: z.record(z.string(), z.object({ value: z.number(), better: z.enum(['higher', 'lower']) })),
});

/** `2026-01-31T120000Z-<commit>.json`: in the order of time, by name. */
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

/** @throws BenchError where there is none */
export function newestFile(folder = RESULTS): string {
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => /^\d{4}-.*\.json$/.test(name)) : [];
  const newest = files.toSorted().at(-1);
  if (newest === undefined) throw new BenchError(`There is no result in ${folder}: run npm run bench first.`);
  return join(folder, newest);
}

/** @throws BenchError where there is none */
export function baselineFile(folder = RESULTS): string {
  const file = join(folder, BASELINE);
  if (!existsSync(file)) throw new BenchError(`There is no ${file}: npm run bench -- --keep makes the newest run it.`);
  return file;
}

/** @throws BenchError if the file is not a benchmark result */
export function readResult(file: string): Result {
  const parsed = Kept.safeParse(parseJson(readFileSync(file, 'utf8')));
  if (!parsed.success) throw new BenchError(`${file} is not a benchmark result.`);
  return parsed.data as unknown as Result;
}

/** Makes the newest result the baseline. @returns the newest one's file */
export function keepNewest(folder = RESULTS): string {
  const file = newestFile(folder);
  readResult(file);
  writeFileSync(join(folder, BASELINE), readFileSync(file));
  return file;
}
