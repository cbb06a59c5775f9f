import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { LocalError } from '../local-error.js';
import { installSearxng } from './searxng-install.js';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'searxng-install-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** A program in the place of Python: `version` for the look at its version, `pip` for anything else. */
async function fakePython(version: string, pip: string): Promise<string> {
  const file = join(directory, 'python');
  await writeFile(file, `#!/bin/sh\nif [ "$1" = "-c" ]; then echo "${version}"; exit 0; fi\n${pip}\n`);
  await chmod(file, 0o755);
  return file;
}

/** Makes the folder that follows `--target`, and writes down that it ran. */
const workingPip = 'echo ran >> "$0.log"; sleep 0.2; while [ "$1" != "--target" ]; do shift; done; mkdir "$2"';

describe('installSearxng', () => {
  it('installs once, also when asked twice at the same time', async () => {
    const python = await fakePython('3 12 linux', workingPip);
    const lines: string[] = [];
    const install = () => installSearxng({ directory, python, onProgress: (line) => lines.push(line) });
    const [first, second] = await Promise.all([install(), install()]);
    expect(first).toEqual(second);
    expect(await install()).toEqual(first);
    expect(lines).toEqual(['Installing SearXNG (about 25 MB, once)']);
  });

  it('leaves nothing that looks installed when pip fails, and no lock', async () => {
    const python = await fakePython('3 12 linux', 'echo "ERROR: No matching distribution found for x" >&2; exit 1');
    await expect(installSearxng({ directory, python })).rejects.toThrow(
      'SearXNG could not be installed: pip said: ERROR: No matching distribution found for x',
    );
    expect(await readdir(directory)).toEqual(['python']);
  });

  it('says so when the network is missing', async () => {
    const python = await fakePython('3 12 linux', 'echo "Failed to establish a new connection" >&2; exit 1');
    await expect(installSearxng({ directory, python })).rejects.toThrow('the package index cannot be reached');
  });

  it('says so when pip is missing', async () => {
    const python = await fakePython('3 12 linux', 'echo "python: No module named pip" >&2; exit 1');
    await expect(installSearxng({ directory, python })).rejects.toThrow('this Python has no pip');
  });

  it('refuses a Python that is too old', async () => {
    const python = await fakePython('3 10 linux', workingPip);
    await expect(installSearxng({ directory, python })).rejects.toThrow(/needs Python 3\.11 or newer; \S+ is 3\.10\.$/);
  });

  it('refuses a Python that is none', async () => {
    await expect(installSearxng({ directory, python: join(directory, 'none') })).rejects.toThrow(LocalError);
  });

  it('takes over the lock of a process that died', async () => {
    // Process ids end far below this.
    await writeFile(join(directory, 'install.lock'), '2147483646');
    const python = await fakePython('3 12 linux', workingPip);
    await expect(installSearxng({ directory, python })).resolves.toMatchObject({ python });
  });
});
