import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync, appendFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { describeWithPart } from '@uswarm/dev-servers';

/** A separate file system in a folder. */
export interface SmallDisk {
  folder: string;
  /** Fills it to the last byte. */
  fill(): void;
  /** Makes room again. */
  clear(): void;
  remove(): void;
}

export function mountSmallDisk(size: string): SmallDisk {
  const folder = mkdtempSync(path.join(tmpdir(), 'uswarm-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder]);
  const filler = path.join(folder, 'filler');
  return {
    folder,
    fill() {
      writeFileSync(filler, '');
      for (let bytes = 1024 ** 2; bytes >= 1;) {
        try {
          appendFileSync(filler, Buffer.alloc(bytes));
        } catch {
          bytes = Math.floor(bytes / 2);
        }
      }
    },
    clear: () => rmSync(filler, { force: true }),
    remove() {
      // Lazily, because a process may still have a file open.
      spawnSync('umount', ['--lazy', folder]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export const smallDisks: Parameters<typeof describeWithPart>[0] = {
  name: 'small-disks',
  missing() {
    try {
      mountSmallDisk('1m').remove();
      return undefined;
    } catch {
      return { reason: 'This user may not mount a file system.', install: 'Run the tests as root.' };
    }
  },
};
