import path from 'node:path';

const REPOSITORY = path.resolve(import.meta.dirname, '../../..');

/**
 * The file of a built program, by its path in the repository. Integration tests run the bundles of `hack/jest/programs.mjs`, which
 * start faster. `USWARM_TEST_PROGRAMS` with the path of the repository selects the files of `tsc -b` instead.
 */
export function programFile(program: string): string {
  return path.resolve(process.env['USWARM_TEST_PROGRAMS'] ?? REPOSITORY, program);
}
