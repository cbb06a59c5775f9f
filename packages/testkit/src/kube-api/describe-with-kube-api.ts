import { describeWithPart } from '@uswarm/dev-servers';
import { cachedNodeImage } from './cached-programs.js';

/**
 * `describe` for tests that need a real kube-apiserver, which comes from the node image of `npm run e2e`. They are optional: in CI
 * that image is built after these tests, and `npm run e2e` has the same cases.
 */
export function describeWithKubeApi(suite: string, body: (image: string) => void): void {
  const image = cachedNodeImage();
  const missing = { reason: 'This machine has no kube-apiserver.', install: 'Run npm run e2e once.' };
  describeWithPart(
    { name: 'kube-apiserver', missing: () => (image === undefined ? missing : undefined), isOptional: true },
    suite,
    () => body(image ?? ''),
  );
}
