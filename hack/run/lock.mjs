import { randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { repositoryRoot } from './environment.mjs';

const lockFile = join(repositoryRoot, '.cache/run.lock');

/**
 * Runs `work` while no other command of this checkout installs or builds. Ignores the lock of a command that has ended.
 */
export async function withLock(
  work,
  { file = lockFile, what = 'installs or builds', report = console.log, pollMs = 200 } = {},
) {
  mkdirSync(dirname(file), { recursive: true });
  for (let reported = false; !createLock(file, String(process.pid));) {
    const content = readOrEmpty(file);
    if (!runsOurCommand(Number(content))) {
      removeStale(file, content);
      continue;
    }
    if (!reported) report(`Waiting for another command (pid ${content}) that ${what}…`);
    reported = true;
    await sleep(pollMs);
  }
  const release = () => rmSync(file, { force: true });
  // Removes the lock file also when `work` calls process.exit().
  process.once('exit', release);
  try {
    return await work();
  } finally {
    process.off('exit', release);
    release();
  }
}

/** A link is created atomically with its content, and never replaces an existing one. */
function createLock(file, content) {
  const draft = `${file}.${randomUUID()}`;
  writeFileSync(draft, content);
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft);
  }
}

/** Moves the lock aside and checks it again, because another command may have taken it over in between. */
function removeStale(file, stale) {
  const aside = `${file}.${randomUUID()}`;
  try {
    renameSync(file, aside);
  } catch {
    return;
  }
  const moved = readOrEmpty(aside);
  if (moved !== stale) createLock(file, moved);
  rmSync(aside);
}

function readOrEmpty(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function runsOurCommand(pid) {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error.code !== 'EPERM') return false;
  }
  // After a reboot, another program may have the pid. This can be checked on Linux only.
  return process.platform !== 'linux' || /node/.test(readOrEmpty(`/proc/${pid}/cmdline`));
}
