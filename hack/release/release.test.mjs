import { execFile, execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { cosign, crane, describeWith, kubeTools } from '../../packages/testkit/dist/index.js';
import { services } from '../images/services.mjs';
import { currentVersion, nodeBinary } from '../run/environment.mjs';
import { publishRelease } from './publish.mjs';
import { openRegistry, startRegistry } from './registry.mjs';
import { createSigner, generateKey } from './signing.mjs';

const VERSION = currentVersion();
const PLATFORMS = ['linux/amd64', 'linux/arm64'];
const COMMIT = 'c'.repeat(40);
/** The first run on a machine builds cosign and crane. */
const PROGRAMS_MS = 25 * 60_000;
const run = promisify(execFile);
const lines = (text) => text.trim().split('\n');

/** Any service that listens without other servers does. */
const [service] = services.filter(({ name }) => name === 'uswarm-webhook');

describeWith('go', 'a release in a registry', () => {
  let folder;
  let out;
  let programs;
  let prefix;
  let keys;
  let released;
  let end;
  const image = () => released.images[0];
  const inRegistry = async (...args) =>
    (await run(programs.crane, [...args, '--insecure'], { maxBuffer: 2 ** 28 })).stdout;
  const verify = (ref, key, command = ['verify']) =>
    run(programs.cosign, [...command, '--key', key, '--allow-http-registry', '--insecure-ignore-tlog=true', ref], {
      maxBuffer: 2 ** 28,
    });

  /** A base image of both platforms: this machine's Node.js, and a file that no processor runs. */
  async function pushBase() {
    const own = process.arch === 'x64' ? 'linux/amd64' : 'linux/arm64';
    const registry = openRegistry(programs.crane, { plainHttp: true });
    const digests = [];
    for (const platform of PLATFORMS) {
      const root = join(folder, platform.replace('/', '-'));
      const node = join(root, 'nodejs/bin/node');
      mkdirSync(dirname(node), { recursive: true });
      if (platform === own) copyFileSync(nodeBinary, node);
      else writeFileSync(node, 'for another processor', { mode: 0o755 });
      execFileSync('tar', ['-cf', `${root}.tar`, '-C', root, 'nodejs']);
      const ref = await registry.pushRoot({ repository: `${prefix}/base`, platform, layer: `${root}.tar` });
      digests.push(ref.slice(ref.indexOf('@') + 1));
    }
    await registry.pushIndex({ repository: `${prefix}/base`, tag: '1', digests });
    return `${prefix}/base:1`;
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'uswarm-release-'));
    out = join(folder, 'out');
    programs = { cosign: await cosign(), crane: await crane() };
    ({ address: prefix, close: end } = await startRegistry(programs.crane));
    keys = await generateKey(programs.cosign, folder);
    process.env.COSIGN_PASSWORD = '';
    released = await publishRelease({
      prefix,
      version: VERSION,
      out,
      notes: 'Something is new.',
      revision: { commit: COMMIT, source: 'https://git.example/uswarm' },
      platforms: PLATFORMS,
      services: [service],
      base: await pushBase(),
      registry: openRegistry(programs.crane, { plainHttp: true }),
      signer: createSigner({ program: programs.cosign, folder, key: keys.key, log: false, plainHttp: true }),
      plainHttp: true,
      npm: { dryRun: true },
      ctl: { platforms: [], baseUrl: 'https://downloads.example' },
      report: () => {},
    });
  }, PROGRAMS_MS);
  afterAll(async () => {
    await end();
    rmSync(folder, { recursive: true });
  });

  it('has one image of all platforms, with the files and the settings of the Dockerfile', async () => {
    const { manifests } = JSON.parse(await inRegistry('manifest', image().tag));
    expect(manifests.map(({ platform: { os, architecture } }) => `${os}/${architecture}`)).toEqual(PLATFORMS);
    for (const { platform, digest } of image().platforms) {
      const ref = `${prefix}/uswarm/${service.name}@${digest}`;
      const { config, architecture } = JSON.parse(await inRegistry('config', ref));
      expect(`linux/${architecture}`).toBe(platform);
      expect(config).toMatchObject({
        Entrypoint: ['node'],
        Cmd: ['/app/dist/main.js'],
        User: '65532:65532',
        WorkingDir: '/app',
        Labels: {
          'org.opencontainers.image.revision': COMMIT,
          'dev.uswarm.content': expect.stringMatching(/^[0-9a-f]{64}$/),
        },
      });
      const files = join(folder, 'files.tar');
      await inRegistry('export', ref, files);
      const names = lines(execFileSync('tar', ['-tf', files], { encoding: 'utf8', maxBuffer: 2 ** 28 }));
      expect(names).toEqual(expect.arrayContaining(['nodejs/bin/node', 'app/dist/main.js', 'app/sbom.cdx.json']));
      const isOwn = platform.endsWith(process.arch === 'x64' ? 'amd64' : 'arm64');
      expect(names.some((name) => name.startsWith('app/compile-cache/v'))).toBe(isOwn);
    }
  });

  it('is signed in full: the index, each image and the chart', async () => {
    const repository = `${prefix}/uswarm/${service.name}`;
    const signed = [image().tag, ...image().platforms.map(({ digest }) => `${repository}@${digest}`), released.chart];
    for (const ref of signed) {
      const { stderr } = await verify(ref, keys.publicKey);
      expect(stderr).toContain('The signatures were verified against the specified public key');
    }
    const strangers = mkdtempSync(join(folder, 'stranger-'));
    const stranger = await generateKey(programs.cosign, strangers);
    await expect(verify(image().tag, stranger.publicKey)).rejects.toThrow(
      /no matching|invalid signature|failed to verify/i,
    );
  });

  it('has signed statements about contents and build', async () => {
    const statement = async (type) => {
      const { stdout } = await verify(image().ref, keys.publicKey, ['verify-attestation', '--type', type]);
      return JSON.parse(Buffer.from(JSON.parse(lines(stdout)[0]).payload, 'base64').toString('utf8')).predicate;
    };
    const sbom = await statement('cyclonedx');
    expect(sbom.metadata.component).toMatchObject({ name: 'webhook', version: VERSION });
    expect(sbom.components.length).toBeGreaterThan(10);
    const { buildDefinition } = await statement('slsaprovenance1');
    expect(buildDefinition.externalParameters).toMatchObject({ version: VERSION, platforms: PLATFORMS });
    expect(buildDefinition.resolvedDependencies[0]).toEqual({
      uri: `git+https://git.example/uswarm@${COMMIT}`,
      digest: { gitCommit: COMMIT },
    });
  });

  it('is not verified after someone has changed an image', async () => {
    const ref = `${prefix}/uswarm/${service.name}:tampered`;
    await inRegistry('copy', image().ref, ref);
    await expect(verify(ref, keys.publicKey)).resolves.toBeDefined();
    await inRegistry(
      'mutate',
      image().tag,
      '--platform',
      PLATFORMS[0],
      '--env',
      'NODE_OPTIONS=--require=/tmp/x.js',
      '--tag',
      ref,
    );
    await expect(verify(ref, keys.publicKey)).rejects.toThrow(/no signatures found/);
  });

  it('is installed from the registry without naming the registry again', async () => {
    const { helm } = await kubeTools();
    const env = { ...process.env, HELM_CACHE_HOME: join(folder, 'helm') };
    const values = 'evaluation.enabled=true,oidc.issuers[0].issuer=https://issuer.example,oidc.issuers[0].audience=app';
    const chart = ['--version', VERSION, '--plain-http', '--set', values];
    const { stdout } = await run(helm, ['template', 'uswarm', `oci://${prefix}/charts/uswarm`, ...chart], {
      env,
      maxBuffer: 2 ** 28,
    });
    const ours = new Set([...stdout.matchAll(/image: "?(\S+\/uswarm\/[^\s"]+)/g)].map(([, ref]) => ref));
    expect([...ours]).toContain(`${prefix}/uswarm/${service.name}:${VERSION}`);
    expect([...ours].filter((ref) => !ref.startsWith(`${prefix}/`))).toEqual([]);
  });

  it('comes with its files and their signed checksums', async () => {
    const sums = join(out, 'SHA256SUMS');
    const names = lines(readFileSync(sums, 'utf8')).map((line) => line.slice(66));
    expect(names).toEqual(
      expect.arrayContaining([
        'images.txt',
        'notes.md',
        'provenance.json',
        `sboms/${service.name}.cdx.json`,
        'uswarm.yaml',
        'uswarmctl.mjs',
      ]),
    );
    expect(names.filter((name) => name.endsWith('.tgz'))).toEqual([
      `uswarm-${VERSION}.tgz`,
      expect.stringMatching(/^uswarm-client-/),
      expect.stringMatching(/^uswarm-contract-/),
    ]);
    execFileSync('sha256sum', ['--check', '--strict', '--quiet', 'SHA256SUMS'], { cwd: out });
    const check = [
      'verify-blob',
      '--key',
      keys.publicKey,
      '--insecure-ignore-tlog=true',
      '--bundle',
      `${sums}.sigstore.json`,
    ];
    await expect(run(programs.cosign, [...check, sums])).resolves.toBeDefined();
    writeFileSync(sums, readFileSync(sums, 'utf8').replace('notes.md', 'other.md'));
    await expect(run(programs.cosign, [...check, sums])).rejects.toThrow(/failed to verify|invalid signature/i);
  });
});
