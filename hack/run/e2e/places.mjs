import { join } from 'node:path';
import { repositoryRoot } from '../environment.mjs';
import { withLock } from '../lock.mjs';

/** Folder for run artifacts. */
export const artifactsRoot = join(repositoryRoot, '.e2e');

/** Locks the checkout's cluster for one run. */
export function withClusterLock(work) {
  return withLock(work, { file: join(repositoryRoot, '.cache/e2e.lock'), what: 'uses the cluster' });
}
