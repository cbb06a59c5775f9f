import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { services } from '../images/services.mjs';
import { chosenServices } from '../images/service-images.mjs';
import { notesOf } from '../release/changelog.mjs';
import { cutRelease } from '../release/cut.mjs';
import { currentVersion, publishRelease } from '../release/publish.mjs';
import { openRegistry, withTemporaryRegistry } from '../release/registry.mjs';
import { createSigner, generateKey } from '../release/signing.mjs';
import { repositoryRoot, seconds } from './environment.mjs';
import { runQuietly } from './quiet.mjs';
import { RunError } from './run-error.mjs';

const PLATFORMS = ['linux/amd64', 'linux/arm64'];

export const RELEASE_USAGE = `Usage: npm run release -- --cut
       npm run release -- --registry REGISTRY (--key KEY | --keyless) [options]
       npm run release -- --dry-run [options]
  --cut                dates the changelog's section, commits and tags the version of this checkout, and begins the next one
  --registry REGISTRY  images are REGISTRY/uswarm/<service>:VERSION, the chart is oci://REGISTRY/charts/uswarm
  --key KEY            sign with this key: a file, env://NAME or the URI of a key management service (cosign)
  --keyless            sign with the identity of the CI job
  --no-log             with --key: do not write to the public transparency log
  --npm                publish the npm packages; without it, npm only checks them
  --npm-registry URL   registry of the npm packages
  --platforms A,B      platforms of the images (default: ${PLATFORMS.join(',')})
  --base IMAGE         base image with Node.js; "local" builds one from Debian packages
  --only A,B           only these services: ${services.map(({ name }) => name).join(', ')}
  --plain-http         use http, for a registry on this machine
  --out FOLDER         folder of the files (default: dist/release)
  --dry-run            publish to a registry that exists only during the command, signed with a new key`;

/** `npm run release`. @returns the exit code */
export async function release(args) {
  const options = parseOptions(args);
  if (options.cut) {
    for (const line of await cutRelease()) console.log(line);
    return 0;
  }
  const started = performance.now();
  const version = currentVersion();
  const revision = await currentRevision(version, options.dryRun);
  const notes = releaseNotes(version, options.dryRun);
  const { cosign } = await import('../../packages/testkit/dist/go/cosign.js');
  const { crane } = await import('../../packages/testkit/dist/go/chart-programs.js');
  const programs = { cosign: await cosign(), crane: await crane() };
  const { images, chart } = await inRegistry({ ...options, version, revision, notes }, programs);
  for (const { ref } of images) console.log(ref);
  console.log(chart);
  console.log(`Files: ${options.out} (${seconds(performance.now() - started)}).`);
  return 0;
}

async function inRegistry(options, programs) {
  const folder = mkdtempSync(join(tmpdir(), 'uswarm-release-'));
  try {
    const publish = ({ prefix, plainHttp, ...signing }) =>
      publishRelease({
        ...options,
        prefix,
        plainHttp,
        registry: openRegistry(programs.crane, { plainHttp }),
        signer: createSigner({ program: programs.cosign, folder, plainHttp, ...signing }),
      });
    if (!options.dryRun) return await publish(options);
    const { key } = await generateKey(programs.cosign, folder);
    process.env.COSIGN_PASSWORD = '';
    return await withTemporaryRegistry(programs.crane, (prefix) =>
      publish({ prefix, plainHttp: true, key, log: false }),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @throws RunError with the usage */
export function parseOptions(args) {
  const names = ['registry', 'key', 'npm-registry', 'platforms', 'base', 'only', 'out'];
  const flags = ['cut', 'keyless', 'no-log', 'npm', 'plain-http', 'dry-run'];
  try {
    const { values } = parseArgs({
      args,
      options: {
        ...Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
        ...Object.fromEntries(flags.map((name) => [name, { type: 'boolean', default: false }])),
      },
      allowPositionals: false,
    });
    const empty = names.find((name) => values[name]?.trim() === '');
    if (empty !== undefined) throw new Error(`--${empty} has no value.`);
    if (values.cut) {
      if (args.length > 1) throw new Error('--cut has no other options.');
      return { cut: true };
    }
    const { registry, key, keyless, out, base } = values;
    const dryRun = values['dry-run'];
    if (dryRun) {
      const contrary = ['registry', 'key', 'keyless', 'no-log', 'npm'].find(
        (name) => values[name] !== undefined && values[name] !== false,
      );
      if (contrary !== undefined)
        throw new Error(`--${contrary} cannot be used with --dry-run, which publishes nothing.`);
    } else if (registry === undefined) throw new Error('--registry is required.');
    else if ((key === undefined) === !keyless) throw new Error('Exactly one of --key and --keyless is required.');
    if (values['no-log'] && key === undefined)
      throw new Error('--no-log requires --key: a CI identity is verified with the log.');
    return {
      cut: false,
      dryRun,
      prefix: registry?.replace(/\/+$/, ''),
      key,
      log: !values['no-log'],
      plainHttp: values['plain-http'],
      platforms: platformsOf(values.platforms),
      services: chosenServices(values.only?.split(',').map((name) => name.trim())),
      base,
      out: out ?? join(repositoryRoot, 'dist/release'),
      npm: { registry: values['npm-registry'], dryRun: !values.npm },
    };
  } catch (error) {
    throw new RunError(`${error.message}\n\n${RELEASE_USAGE}`);
  }
}

function platformsOf(list) {
  const platforms = list?.split(',').map((platform) => platform.trim()) ?? PLATFORMS;
  const unknown = platforms.find((platform) => !PLATFORMS.includes(platform));
  if (unknown !== undefined)
    throw new Error(`Unknown platform ${JSON.stringify(unknown)}. Expected: ${PLATFORMS.join(', ')}.`);
  return platforms;
}

/** The commit of the version's tag, and the address of its repository. @throws RunError unless the checkout is that commit */
async function currentRevision(version, dryRun) {
  const git = async (...args) => {
    const { code, output } = await runQuietly('git', args, { cwd: repositoryRoot });
    return code === 0 ? output.trim() : undefined;
  };
  const commit = await git('rev-parse', 'HEAD');
  const isClean = (await git('status', '--porcelain')) === '';
  const source = sourceOf((await git('config', '--get', 'remote.origin.url')) ?? `file://${repositoryRoot}`);
  if (dryRun) return { commit: `${commit}${isClean ? '' : '-dirty'}`, source };
  if (!isClean)
    throw new RunError('The checkout has changes that are not committed: a release is built from a commit.');
  const tagged = await git('rev-parse', '--verify', '--quiet', `v${version}^{commit}`);
  if (tagged !== commit)
    throw new RunError(`This commit is not v${version}: check out the tag that \`npm run release -- --cut\` made.`);
  return { commit, source };
}

/** A repository's address without credentials. */
export function sourceOf(remote, env = process.env) {
  if (env.GITHUB_REPOSITORY !== undefined) return `${env.GITHUB_SERVER_URL}/${env.GITHUB_REPOSITORY}`;
  return remote.replace(/^(https?:\/\/)[^/@]*@/, '$1').replace(/^(?:[^/@]+@)?([^/:]+):(?!\/)/, 'ssh://$1/');
}

function releaseNotes(version, dryRun) {
  const changelog = readFileSync(join(repositoryRoot, 'CHANGELOG.md'), 'utf8');
  try {
    return notesOf(changelog, version);
  } catch (error) {
    if (dryRun) return `${version} is not released.`;
    throw error;
  }
}
