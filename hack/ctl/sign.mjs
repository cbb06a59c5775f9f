import { join } from 'node:path';
import { repositoryRoot } from '../run/environment.mjs';
import { runQuietly } from '../run/quiet.mjs';
import { RunError } from '../run/run-error.mjs';

const FOLDER = join(repositoryRoot, 'hack/ctl/sign');

/**
 * Puts an ad-hoc signature on a Mach-O executable, in place: macOS kills a program on Apple silicon whose signature does not
 * match, and what was added to Node.js broke the signature of its authors.
 *
 * @throws RunError
 */
export async function signMachO(file) {
  const { goProgram, hashOfFolder } = await import('../../packages/dev-servers/dist/index.js');
  const program = await goProgram({
    name: 'sign',
    version: hashOfFolder(FOLDER),
    from: { folder: FOLDER },
    purpose: 'the program that signs macOS executables',
  });
  const { code, output } = await runQuietly(program, [file], {});
  if (code !== 0) throw new RunError(`${file} could not be signed: ${output.trim()}`);
}
