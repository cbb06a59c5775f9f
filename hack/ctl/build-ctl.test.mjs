import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseTarGzip } from 'nanotar';
import { parse } from 'yaml';
import { repositoryRoot } from '../run/environment.mjs';
import { parseOptions } from './options.mjs';
import { buildCtl } from './build-ctl.mjs';
import { createExecutable } from './executable.mjs';
import { bundleCtl, licencesOf, OLDEST_NODE } from './bundle.mjs';
import { krewManifest } from './krew-manifest.mjs';
import { requireOwnPlatform, PLATFORMS } from './platforms.mjs';

const BUILD_MS = 240_000;
const run = promisify(execFile);

describe('npm run ctl-binaries', () => {
  it('builds for all platforms into dist/ctl by default', () => {
    expect(parseOptions([])).toMatchObject({ out: join(repositoryRoot, 'dist/ctl'), platforms: undefined });
    expect(parseOptions(['--platform=linux/amd64', '--platform', 'darwin/arm64', '--out=o'])).toMatchObject({
      out: 'o',
      platforms: ['linux/amd64', 'darwin/arm64'],
    });
  });

  it.each([[['--platform', 'plan9/amd64']], [['--outt', 'x']], [['x']]])('refuses %j with the usage', (args) => {
    expect(() => parseOptions(args)).toThrow('npm run ctl-binaries -- [options]');
  });

  it('refuses an unknown platform before it writes', async () => {
    const out = join(tmpdir(), `uswarm-ctl-${process.pid}-absent`);
    await expect(buildCtl({ out, platforms: ['plan9/amd64'] })).rejects.toThrow(/^Unknown platform plan9\/amd64/);
    expect(existsSync(out)).toBe(false);
  });
});

describe('the krew manifest', () => {
  const archives = PLATFORMS.map(({ name }) => ({
    file: `/out/a-${name.replace('/', '-')}`,
    platform: name,
    sha256: 'a',
  }));

  it('has the version, and a platform with URL, checksum and program per archive', async () => {
    const text = await krewManifest({ version: '1.2.3', archives, baseUrl: 'https://d.test/v1.2.3/' });
    const { metadata, spec } = parse(text);
    expect({ name: metadata.name, version: spec.version }).toEqual({ name: 'uswarm', version: 'v1.2.3' });
    expect(spec.platforms).toHaveLength(PLATFORMS.length);
    expect(spec.platforms[0]).toMatchObject({
      selector: { matchLabels: { os: 'linux', arch: 'amd64' } },
      uri: 'https://d.test/v1.2.3/a-linux-amd64',
      sha256: 'a',
      bin: 'uswarmctl',
    });
    expect(spec.platforms.find(({ selector }) => selector.matchLabels.os === 'windows').bin).toBe('uswarmctl.exe');
    expect(text).not.toContain('#');
  });
});

describe('uswarmctl.mjs', () => {
  let folder;
  let file;
  let bundle;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'uswarm-ctl-'));
    bundle = await bundleCtl(repositoryRoot, 'esm');
    file = join(folder, 'uswarmctl.mjs');
    writeFileSync(file, bundle.text, { mode: 0o755 });
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('runs without the checkout and its packages', async () => {
    const { stdout } = await run(process.execPath, [file, 'user', '--help'], { cwd: folder });
    expect(stdout).toMatch(/^Usage: uswarmctl user \[options\] \[command\]\n/);
    const absent = join(folder, 'absent');
    await expect(
      run(process.execPath, [file, 'why', 'a', '--kubeconfig', absent], { cwd: folder }),
    ).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^No cluster selected: .* Set KUBECONFIG, --kubeconfig or --context\.\n$/),
    });
  });

  it('names itself as kubectl does if it is a plugin', async () => {
    const plugin = join(folder, 'kubectl-uswarm');
    symlinkSync(file, plugin);
    const { stdout } = await run(process.execPath, [plugin, '--help']);
    expect(stdout).toMatch(/^Usage: kubectl uswarm \[options\] \[command\]\n/);
  });

  it('explains in one sentence that Node.js is too old', async () => {
    const older = "data:text/javascript,Object.defineProperty(process,'version',{value:'v22.18.9'})";
    await expect(run(process.execPath, ['--import', older, file, '--help'])).rejects.toMatchObject({
      code: 1,
      stderr: `uswarmctl needs Node.js ${OLDEST_NODE} or newer, not v22.18.9.\n`,
    });
  });

  it('has the licence of each package in it', () => {
    const text = licencesOf(repositoryRoot, bundle.inputs);
    for (const name of ['undici', 'zod', 'commander', '@kubernetes/client-node']) {
      expect(text).toMatch(new RegExp(`^${name}@\\d`, 'm'));
    }
  });

  it('has fewer than 2.5 MB', () => {
    expect(Buffer.byteLength(bundle.text)).toBeLessThan(2_500_000);
  });
});

// The first build on a machine downloads Node.js.
describe('the executable for this machine', () => {
  const { name } = requireOwnPlatform();
  let folder;
  let built;
  let program;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'uswarm-ctl-'));
    built = await buildCtl({ out: folder, platforms: [name] });
    const archive = built.find(({ platform }) => platform === name);
    for (const { name: entry, data, attrs } of await parseTarGzip(readFileSync(archive.file))) {
      writeFileSync(join(folder, entry), data, { mode: Number.parseInt(attrs.mode, 8) });
    }
    program = join(folder, 'uswarmctl');
  }, BUILD_MS);
  afterAll(() => rmSync(folder, { recursive: true }));

  it('runs without Node.js', async () => {
    const { stdout } = await run(program, ['--help'], { env: {} });
    expect(stdout).toMatch(/^Usage: uswarmctl \[options\] \[command\]\n/);
    await expect(run(program, ['frobnicate'], { env: {} })).rejects.toMatchObject({ code: 2 });
  });

  it('connects to a cluster with the kubeconfig', async () => {
    const kubeconfig = join(folder, 'kubeconfig');
    const cluster = { name: 'c', cluster: { server: 'https://127.0.0.1:1' } };
    const contexts = [{ name: 'c', context: { cluster: 'c', user: 'u' } }];
    const users = [{ name: 'u', user: { token: 't' } }];
    writeFileSync(kubeconfig, JSON.stringify({ clusters: [cluster], contexts, users, 'current-context': 'c' }));
    await expect(run(program, ['why', 'a'], { env: { KUBECONFIG: kubeconfig } })).rejects.toMatchObject({
      code: 1,
      stderr: 'The API server https://127.0.0.1:1 is unreachable (ECONNREFUSED).\n',
    });
  });

  it('has its licences beside it, and the checksums of the files are right', () => {
    for (const file of ['LICENSE', 'LICENSE.node', 'LICENSE.packages']) {
      expect(readFileSync(join(folder, file), 'utf8').length).toBeGreaterThan(1_000);
    }
    for (const { file, sha256 } of built) {
      expect(createHash('sha256').update(readFileSync(file)).digest('hex')).toBe(sha256);
    }
  });

  it(
    'is the same when it is built again',
    async () => {
      const { text } = await bundleCtl(repositoryRoot, 'cjs');
      const again = await createExecutable(text, requireOwnPlatform());
      expect(again.equals(readFileSync(program))).toBe(true);
    },
    BUILD_MS,
  );
});
