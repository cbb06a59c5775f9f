import { closeSync, fstatSync, openSync, statSync, writeSync } from 'node:fs';
import { reasonOf } from './disk-problem.js';

export interface LogFile {
  write(entry: string): void;
}

/** System calls, which a test can let fail. */
interface Files {
  openSync: typeof openSync;
  writeSync: (fd: number, data: Buffer) => number;
}

/**
 * Appends to a log file. Services must not end because of their log: while it cannot be written (a full disk, a removed
 * network drive), entries are dropped, and each entry tries again. `say` receives one line when that begins and one when it ends.
 * A removed or renamed file is created again.
 */
export function openLogFile(
  file: string,
  say: (line: string) => void,
  files: Files = { openSync, writeSync },
): LogFile {
  let fd: number | undefined;
  let dropped = 0;
  /** The last entry was written in part, so that the next one begins on its own line. */
  let isTorn = false;

  function open(): number {
    if (fd !== undefined && !isSameFile(fd, file)) {
      closeQuietly(fd);
      fd = undefined;
    }
    fd ??= files.openSync(file, 'a', 0o600);
    return fd;
  }

  function append(entry: string): void {
    let rest = Buffer.from(isTorn ? `\n${entry}` : entry);
    const target = open();
    const { length } = rest;
    try {
      while (rest.length > 0) rest = rest.subarray(files.writeSync(target, rest));
      isTorn = false;
    } catch (error) {
      if (rest.length < length) isTorn = true;
      throw error;
    }
  }

  return {
    write(entry) {
      try {
        append(entry);
      } catch (error) {
        dropped += 1;
        if (dropped === 1)
          say(`The log ${file} cannot be written: ${reasonOf(error as Error)}. The services go on without it.`);
        return;
      }
      if (dropped === 0) return;
      say(`The log ${file} can be written again; ${dropped} ${dropped === 1 ? 'entry is' : 'entries are'} missing.`);
      dropped = 0;
    },
  };
}

/** True if the path still names the open file. */
function isSameFile(fd: number, file: string): boolean {
  try {
    const [opened, named] = [fstatSync(fd), statSync(file)];
    return opened.ino === named.ino && opened.dev === named.dev;
  } catch {
    return false;
  }
}

/** Ignores errors: on close, a network drive reports writes that failed earlier. */
function closeQuietly(fd: number): void {
  try {
    closeSync(fd);
  } catch {
    // The file no longer exists.
  }
}
