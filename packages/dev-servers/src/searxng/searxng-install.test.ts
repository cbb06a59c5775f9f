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

/** A fake Python: prints `version` for the version check and runs `pip` otherwise. */
async function fakePython(version: string, pip: string): Promise<string> {
  const file = join(directory, 'python');
  await writeFile(file, `#!/bin/sh\nif [ "$1" = "-c" ]; then echo "${version}"; exit 0; fi\n${pip}\n`);
  await chmod(file, 0o755);
  return file;
}

/** Creates the folder after `--target` and logs the run. */
const workingPip = 'echo ran >> "$0.log"; sleep 0.2; while [ "$1" != "--target" ]; do shift; done; mkdir "$2"';

describe('installSearxng', () => {
  it('installs once for two concurrent calls', async () => {
    const python = await fakePython('3 12 linux', workingPip);
    const lines: string[] = [];
    const install = () => installSearxng({ directory, python, onProgress: (line) => lines.push(line) });
    const [first, second] = await Promise.all([install(), install()]);
    expect(first).toEqual(second);
    expect(await install()).toEqual(first);
    expect(lines).toEqual(['Installing SearXNG (about 25 MB, once)']);
  });

  it('leaves no installation and no lock if pip fails', async () => {
    const python = await fakePython('3 12 linux', 'echo "ERROR: No matching distribution found for x" >&2; exit 1');
    await expect(installSearxng({ directory, python })).rejects.toThrow(
      'SearXNG could not be installed: pip reports: ERROR: No matching distribution found for x',
    );
    expect(await readdir(directory)).toEqual(['python']);
  });

  it('reports an unreachable network', async () => {
    const python = await fakePython('3 12 linux', 'echo "Failed to establish a new connection" >&2; exit 1');
    await expect(installSearxng({ directory, python })).rejects.toThrow('the package index cannot be reached');
  });

  it('reports a missing pip', async () => {
    const python = await fakePython('3 12 linux', 'echo "python: No module named pip" >&2; exit 1');
    await expect(installSearxng({ directory, python })).rejects.toThrow('this Python has no pip');
  });

  it('rejects a Python that is too old', async () => {
    const python = await fakePython('3 10 linux', workingPip);
    await expect(installSearxng({ directory, python })).rejects.toThrow(/needs Python 3\.11 or newer; \S+ is 3\.10\.$/);
  });

  it('rejects a Python that does not exist', async () => {
    await expect(installSearxng({ directory, python: join(directory, 'none') })).rejects.toThrow(LocalError);
  });

  it('replaces the lock of a process that no longer runs', async () => {
    // Above the maximum process id.
    await writeFile(join(directory, 'install.lock'), '2147483646');
    const python = await fakePython('3 12 linux', workingPip);
    await expect(installSearxng({ directory, python })).resolves.toMatchObject({ python });
  });
});
