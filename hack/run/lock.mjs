import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { withFileLock } from '../../packages/file-lock/src/file-lock.mjs';
import { repositoryRoot } from './environment.mjs';

const lockFile = join(repositoryRoot, '.cache/run.lock');

/**
 * Runs `work` while no other command in this checkout installs or builds. Ignores the lock of a command that has ended.
 */
export function withLock(work, { file = lockFile, what = 'installs or builds', report = console.log, pollMs } = {}) {
  mkdirSync(dirname(file), { recursive: true });
  const onWait = ({ pid }) => report(`Waiting for another command (pid ${pid}) that ${what}…`);
  return withFileLock(file, work, { pollMs, onWait });
}
