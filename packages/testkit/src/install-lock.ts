import { readFile, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { LocalError } from './local-error.js';

const POLL_MS = 200;
const WAIT_MS = 15 * 60_000;

/**
 * Runs `task` while no other process of this machine does under the same lock file. The lock of a
 * process that died is taken over.
 *
 * @throws LocalError after `waitMs` (a quarter of an hour) of waiting.
 */
export async function withInstallLock<T>(file: string, task: () => Promise<T>, waitMs = WAIT_MS): Promise<T> {
  const deadline = performance.now() + waitMs;
  while (!(await acquire(file))) {
    if (performance.now() > deadline)
      throw new LocalError(`Another installation holds ${file}; remove it if there is none.`);
    await sleep(POLL_MS);
  }
  try {
    return await task();
  } finally {
    await rm(file, { force: true });
  }
}

async function acquire(file: string): Promise<boolean> {
  try {
    await writeFile(file, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const holder = Number(await readFile(file, 'utf8').catch(() => ''));
  // An empty file was created a moment ago; its holder has not written its id yet.
  if (holder > 0 && !isAlive(holder)) await rm(file, { force: true });
  return false;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
