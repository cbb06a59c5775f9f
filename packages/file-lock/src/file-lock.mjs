import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ownIdentity, processIsAlive, stillRuns } from './process-identity.mjs';

// Libraries such as proper-lockfile do not fit: hack/run locks before packages are installed, and a lock that must be
// refreshed is lost while a machine sleeps.

const POLL_MS = 200;

export class LockTimeout extends Error {
  name = 'LockTimeout';

  constructor(file, holder) {
    super(`process ${holder.pid} holds ${file}`);
    this.holder = holder;
  }
}

export function tryLock(file, details = {}) {
  const content = `${JSON.stringify({ ...ownIdentity(), ...details })}\n`;
  for (;;) {
    if (createLock(file, content)) {
      return {
        release() {
          if (read(file) === content) rmSync(file, { force: true });
        },
      };
    }
    const found = read(file);
    if (found === undefined) continue;
    const holder = runningHolder(found);
    if (holder !== undefined) return { holder };
    removeStale(file, found);
  }
}

export async function withFileLock(file, work, { pollMs = POLL_MS, waitMs = Infinity, onWait, signal } = {}) {
  const deadline = performance.now() + waitMs;
  let attempt = tryLock(file);
  if (attempt.holder !== undefined) onWait?.(attempt.holder);
  while (attempt.holder !== undefined) {
    if (performance.now() > deadline) throw new LockTimeout(file, attempt.holder);
    await sleep(pollMs, undefined, { signal });
    attempt = tryLock(file);
  }
  const { release } = attempt;
  process.once('exit', release);
  try {
    return await work();
  } finally {
    process.off('exit', release);
    release();
  }
}

/** A link is created atomically with its content, and never replaces an existing file. */
function createLock(file, content) {
  const draft = `${file}.${randomUUID()}`;
  try {
    writeFileSync(draft, content, { mode: 0o600 });
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Moves the lock aside and checks it again, because another process may have taken it over in between. */
function removeStale(file, stale) {
  const aside = `${file}.${randomUUID()}`;
  try {
    renameSync(file, aside);
  } catch {
    return;
  }
  const moved = read(aside);
  if (moved !== undefined && moved !== stale) createLock(file, moved);
  rmSync(aside, { force: true });
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** @returns undefined if the holder has ended or is unknown */
function runningHolder(content) {
  const holder = parseHolder(content);
  if (!Number.isInteger(holder?.pid) || holder.pid <= 0) return undefined;
  const runs = holder.started === undefined ? processIsAlive(holder.pid) : stillRuns(holder);
  return runs ? holder : undefined;
}

/** Locks of release 0.2 contain only the process id. */
function parseHolder(content) {
  try {
    const parsed = JSON.parse(content);
    return typeof parsed === 'number' ? { pid: parsed } : (parsed ?? undefined);
  } catch {
    return undefined;
  }
}
