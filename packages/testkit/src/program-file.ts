import { existsSync } from 'node:fs';
import path from 'node:path';

const REPOSITORY = path.resolve(import.meta.dirname, '../../..');

/**
 * The file of a built program, by its path in the repository. Integration tests run the bundles of `hack/jest/programs.mjs`, which
 * start faster, and the files of `tsc -b` of other programs. `USWARM_TEST_PROGRAMS` with the path of the repository selects these for all.
 */
export function programFile(program: string): string {
  const bundle = path.resolve(process.env['USWARM_TEST_PROGRAMS'] ?? REPOSITORY, program);
  return existsSync(bundle) ? bundle : path.join(REPOSITORY, program);
}
