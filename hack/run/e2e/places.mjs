import { join } from 'node:path';
import { repositoryRoot } from '../environment.mjs';
import { withLock } from '../lock.mjs';

/** Where runs leave what they found. */
export const artifactsRoot = join(repositoryRoot, '.e2e');

/** A checkout has one cluster, which one run uses at a time. */
export function withClusterLock(work) {
  return withLock(work, { file: join(repositoryRoot, '.cache/e2e.lock'), what: 'uses the cluster' });
}
