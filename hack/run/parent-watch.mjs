import { isMainThread } from 'node:worker_threads';

const LOOK_MS = 500;
const EXPECTED = 'USWARM_PARENT_PID';

/** The environment for a program that runs with `--import` and this file: it ends when this process ends. */
export function watchedBy(pid) {
  return { [EXPECTED]: String(pid) };
}

/**
 * Ends this process when its parent has ended, also if that was killed: it gets SIGTERM, and then stops what it has started. A
 * process whose parent ends gets another one.
 *
 * @returns ends the watch
 */
export function endWithParent({ parent = process.ppid, end = () => process.kill(process.pid, 'SIGTERM') } = {}) {
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    end();
  }, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}

const expected = Number(process.env[EXPECTED]);
if (isMainThread && expected > 0) {
  // The processes that this one starts have their own reasons to end.
  delete process.env[EXPECTED];
  endWithParent({ parent: expected });
}
