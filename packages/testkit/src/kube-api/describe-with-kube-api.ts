import { appendFileSync } from 'node:fs';
import { cachedNodeImage } from './cached-programs.js';

interface TestGlobals {
  describe: ((name: string, body: () => void) => void) & { skip(name: string, body: () => void): void };
}

/**
 * `describe` for tests that need a real kube-apiserver, which comes from the node image of `npm run e2e`. Without one they
 * are skipped, also in CI, where that image is built after these tests; `npm run e2e` then has the same cases.
 */
export function describeWithKubeApi(suite: string, body: (image: string) => void): void {
  const { describe } = globalThis as unknown as TestGlobals;
  const image = cachedNodeImage();
  if (image !== undefined) {
    describe(suite, () => body(image));
    return;
  }
  const missing = { reason: 'This machine has no kube-apiserver.', install: 'Run npm run e2e once.' };
  const file = process.env['USWARM_SKIPS_FILE'];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify({ part: 'kube-apiserver', suite, ...missing })}\n`);
  describe.skip(suite, () => body(''));
}
