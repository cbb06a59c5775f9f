import { join } from 'node:path';
import { nodeBinary, repositoryRoot, seconds, serviceEnvironment } from './environment.mjs';
import { runQuietly, tail } from './quiet.mjs';
import { RunError } from './run-error.mjs';

/** Longer than `tsc -b` takes to see that nothing changed, so that such a start stays silent. */
const WORTH_A_LINE_MS = 1_000;

/** Always asked: it takes a third of a second when there is nothing to do. @throws RunError */
export async function build() {
  const started = performance.now();
  const announce = setTimeout(() => console.log('Building…'), WORTH_A_LINE_MS);
  const { code, output } = await compile(['-b']);
  clearTimeout(announce);
  const took = performance.now() - started;
  if (code !== 0) throw new RunError(`${tail(output)}\n\nThe build failed: the reasons are above.`);
  if (took > WORTH_A_LINE_MS) console.log(`Built (${seconds(took)}).`);
}

export function compile(args) {
  return runQuietly(nodeBinary, [join(repositoryRoot, 'node_modules/typescript/bin/tsc'), ...args], {
    cwd: repositoryRoot,
    env: serviceEnvironment(),
  });
}
