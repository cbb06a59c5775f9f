import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processIsAlive } from '../../packages/file-lock/src/process-identity.mjs';

const MEMORY = '/dev/shm';
const NAME = /^uswarm-run-(\d+)-/;
const TMPFS = 0x01_02_19_94;
/** A whole run needs about a third of it. */
const ENOUGH_BYTES = 8 * 1024 ** 3;

/**
 * Creates the folder for a run's temporary files: in memory where it has room, because tests create and delete
 * several hundred databases, which takes ten times as long on a disk.
 *
 * @param options `chosen`: the folder that contains it instead
 */
export function createRunFolder({ chosen = process.env.TMPDIR, memory = MEMORY } = {}) {
  const parent = chosen ?? (isSuitable(memory) ? memory : tmpdir());
  removeLeftovers(parent);
  const folder = mkdtempSync(join(parent, `uswarm-run-${process.pid}-`));
  // As `/tmp`: some servers run as another user.
  chmodSync(folder, 0o1777);
  return folder;
}

function isSuitable(memory) {
  try {
    const { type, bavail, bsize } = statfsSync(memory);
    const mount = readFileSync('/proc/self/mounts', 'utf8')
      .split('\n')
      .find((line) => line.split(' ')[1] === memory);
    const available = 1024 * Number(/^MemAvailable: +(\d+)/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]);
    const mayExecute = mount !== undefined && !mount.split(' ')[3].split(',').includes('noexec');
    return type === TMPFS && mayExecute && Math.min(bavail * bsize, available) > ENOUGH_BYTES;
  } catch {
    // Not Linux, or without this file system.
    return false;
  }
}

/** Of runs that were killed. */
function removeLeftovers(parent) {
  for (const name of readdirSync(parent)) {
    const pid = NAME.exec(name)?.[1];
    if (pid === undefined || processIsAlive(Number(pid))) continue;
    try {
      rmSync(join(parent, name), { recursive: true, force: true });
    } catch {
      // It belongs to another user.
    }
  }
}
