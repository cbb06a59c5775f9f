import { chmod, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { LocalError } from '../local-error.js';
import { identifyProcess } from '../processes.js';
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

/** Waits for a file with content. */
async function contentOf(file: string): Promise<string> {
  for (;;) {
    const content = await readFile(file, 'utf8').catch(() => '');
    if (content !== '') return content;
    await sleep(20);
  }
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

  it.each([
    ['Failed to establish a new connection', 'the package index cannot be reached'],
    ['OSError: [Errno 28] No space left on device', 'the disk is full'],
    ['ERROR: HTTP error 403 while getting https://index', 'the package index refuses access'],
    ['SSLError(SSLCertVerificationError)', 'the certificate of the package index is not trusted'],
    ['No module named pip', 'this Python has no pip'],
  ])('explains in one sentence if pip reports %j', async (line, reason) => {
    const python = await fakePython('3 12 linux', `echo "first line" >&2; echo "${line}" >&2; exit 1`);
    const failure = await installSearxng({ directory, python }).catch((error: Error) => error);
    expect(failure).toBeInstanceOf(LocalError);
    expect((failure as Error).message).toMatch(/^SearXNG could not be installed: [^\n]+$/);
    expect((failure as Error).message).toContain(reason);
    expect(await readdir(directory)).toEqual(['python']);
  });

  it('reports a folder that cannot be created', async () => {
    const python = await fakePython('3 12 linux', workingPip);
    const file = join(directory, 'file');
    await writeFile(file, '');
    await expect(installSearxng({ directory: join(file, 'below'), python })).rejects.toThrow(LocalError);
  });

  it('installs after an earlier attempt failed or was killed', async () => {
    const failing = await fakePython('3 12 linux', 'exit 1');
    await expect(installSearxng({ directory, python: failing })).rejects.toThrow(LocalError);
    const python = await fakePython('3 12 linux', workingPip);
    const { packages } = await installSearxng({ directory, python });
    await rename(packages, `${packages}.partial-killed`);
    expect(await installSearxng({ directory, python })).toEqual({ python, packages });
    expect((await readdir(directory)).filter((name) => name.startsWith('searxng-'))).toEqual([basename(packages)]);
  });

  describe('interrupted', () => {
    /** A pip that writes its process id and waits. */
    const waitingPip = 'echo $$ > "$0.pid"; exec sleep 600';

    it('stops pip and leaves nothing behind', async () => {
      const python = await fakePython('3 12 linux', waitingPip);
      const abort = new AbortController();
      const installing = installSearxng({ directory, python, signal: abort.signal });
      const pid = Number(await contentOf(`${python}.pid`));
      abort.abort(new Error('Ctrl-C'));
      await expect(installing).rejects.toThrow('Ctrl-C');
      expect(identifyProcess(pid)).toBeUndefined();
      expect((await readdir(directory)).toSorted()).toEqual(['python', 'python.pid']);
    });

    it('stops while another installation runs, which goes on', async () => {
      const slow = `echo $$ > "$0.pid"; while [ ! -e "$0.go" ]; do sleep 0.05; done; ${workingPip}`;
      const python = await fakePython('3 12 linux', slow);
      const first = installSearxng({ directory, python });
      await contentOf(`${python}.pid`);
      const second = installSearxng({ directory, python, signal: AbortSignal.abort(new Error('Ctrl-C')) });
      await expect(second).rejects.toThrow('Ctrl-C');
      await writeFile(`${python}.go`, '');
      await expect(first).resolves.toMatchObject({ python });
    });
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
