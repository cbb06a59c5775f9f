import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { generateKey } from 'openpgp';
import { crane, describeWith, kubeTools } from '../../packages/testkit/dist/index.js';
import { startRegistry } from '../release/registry.mjs';
import { packChart, parseOptions } from './chart.mjs';

describe('npm run chart', () => {
  it('writes the package to dist/charts by default', () => {
    expect(parseOptions([]).out).toMatch(/\/dist\/charts$/);
    const args = ['--out=o', '--version=1.2.3', '--sign=me', '--keyring=k', '--push=oci://r.example/charts'];
    expect(parseOptions(args)).toEqual({
      out: 'o',
      version: '1.2.3',
      sign: 'me',
      keyring: 'k',
      push: 'oci://r.example/charts',
    });
  });

  it.each([[['--sing', 'x']], [['--out', '']], [['--sign', 'me']], [['--push', 'r.example/charts']], [['uswarm']]])(
    'refuses %j with the usage',
    (args) => {
      expect(() => parseOptions(args)).toThrow('npm run chart -- [options]');
    },
  );
});

describeWith('go', 'the chart in a registry', () => {
  let program;
  let folder;
  let registry;
  beforeAll(async () => {
    program = await crane();
  });
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'uswarm-registry-'));
    registry = await startRegistry(program);
  });
  afterEach(async () => {
    await registry.close();
    rmSync(folder, { recursive: true });
  });

  /** A key pair in the files that helm expects. */
  async function keyOf(name) {
    const userIDs = [{ name, email: `${name}@example.com` }];
    const { privateKey, publicKey } = await generateKey({ type: 'rsa', rsaBits: 2048, userIDs, format: 'object' });
    const files = { sign: name, keyring: join(folder, `${name}.secret`), trusted: join(folder, `${name}.public`) };
    writeFileSync(files.keyring, privateKey.write());
    writeFileSync(files.trusted, publicKey.write());
    return files;
  }

  it('helm verifies a signed chart only with the signing key', async () => {
    const [owner, stranger] = [await keyOf('owner'), await keyOf('stranger')];
    const { sign, keyring } = owner;
    const push = `oci://${registry.address}/charts`;
    const lines = await packChart({
      out: join(folder, 'out'),
      version: '1.2.3',
      sign,
      keyring,
      push,
      'plain-http': true,
    });
    expect(lines).toEqual([
      expect.stringMatching(/\/uswarm-1\.2\.3\.tgz$/),
      expect.stringMatching(/^Pushed: .*\/charts\/uswarm:1\.2\.3$/),
      expect.stringMatching(/^Digest: sha256:[0-9a-f]{64}$/),
    ]);

    const { helm } = await kubeTools();
    const pull = (trusted) =>
      promisify(execFile)(
        helm,
        ['pull', `${push}/uswarm`, '--version=1.2.3', '--plain-http', '--verify', '--keyring', trusted, '-d', folder],
        { env: { ...process.env, HELM_CACHE_HOME: join(folder, 'cache') } },
      );
    await expect(pull(stranger.trusted)).rejects.toThrow(/signature/);
    const { stdout, stderr } = await pull(owner.trusted);
    expect(stdout + stderr).toContain('Chart Hash Verified: sha256:');
    const packed = readFileSync(join(folder, 'out/uswarm-1.2.3.tgz'));
    expect(readFileSync(join(folder, 'uswarm-1.2.3.tgz')).equals(packed)).toBe(true);
  });

  it('contains the files for an installation and no test files', async () => {
    await packChart({ out: folder });
    const [file] = readdirSync(folder);
    const { stdout } = await promisify(execFile)('tar', ['tzf', join(folder, file)]);
    const names = stdout.trim().split('\n');
    expect(names).toEqual(
      expect.arrayContaining(['uswarm/Chart.yaml', 'uswarm/README.md', 'uswarm/values.schema.json']),
    );
    expect(names.filter((name) => /\/ci\/|gotmpl/.test(name))).toEqual([]);
  });
});
