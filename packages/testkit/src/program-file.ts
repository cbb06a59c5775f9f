import { existsSync } from 'node:fs';
import path from 'node:path';

const REPOSITORY = path.resolve(import.meta.dirname, '../../..');

/**
 * A built program's file, by its path in the repository. Integration tests run the bundles from
 * `hack/jest/programs.mjs`, which start faster, and for other programs the files from `tsc -b`. `USWARM_TEST_PROGRAMS` with
 * the repository path selects these for all.
 */
export function programFile(program: string): string {
  const bundle = path.resolve(process.env['USWARM_TEST_PROGRAMS'] ?? REPOSITORY, program);
  return existsSync(bundle) ? bundle : path.join(REPOSITORY, program);
}
