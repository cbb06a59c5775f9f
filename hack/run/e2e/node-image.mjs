import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { repositoryRoot, seconds } from '../environment.mjs';
import { withLock } from '../lock.mjs';
import { RunError } from '../run-error.mjs';
import { mustRun, run } from './commands.mjs';
import { contentKey } from './content-key.mjs';
import { auditPolicy, kindConfig } from './kind-config.mjs';
import { cacheFolder } from './settings.mjs';

const scripts = join(repositoryRoot, 'hack/cluster');
const REPOSITORY = 'uswarm-node';
/** Number of additional cached images, for another checkout or branch. */
const OTHERS_KEPT = 1;

/**
 * Provides kind and a node image. They are built from sources once per script content, and then cached.
 *
 * @param {{ report?: (line: string) => void, verify: (built: { kind: string, image: string, out: string }) =>
 * Promise<void> }} options an image for which `verify` throws is not kept
 * @returns {Promise<{ kind: string, image: string }>} @throws RunError
 */
export async function builtNodeImage({ report = console.log, verify }) {
  await mustRun(join(scripts, 'packages.sh'), [], { limitS: 900, failure: 'Debian packages could not be installed' });
  const root = join(cacheFolder(), 'cluster');
  // The cluster configuration is part of the key, because the image was verified with it.
  const config = JSON.stringify([auditPolicy, kindConfig({ policyFolder: '', logFolder: '' })]);
  const key = contentKey(scripts, { config });
  const folder = join(root, key);
  const image = `${REPOSITORY}:${key}`;
  await withLock(
    async () => {
      if (!existsSync(folder)) await buildInto(folder, { root, image, report, verify });
      utimesSync(folder, new Date(), new Date());
      await prune(root, key);
      await loadUnlessThere(image, folder, report);
    },
    { file: join(root, 'lock'), report },
  );
  return { kind: join(folder, 'kind'), image };
}

async function loadUnlessThere(image, folder, report) {
  if ((await run('docker', ['image', 'inspect', image])).code === 0) return;
  const started = performance.now();
  const pipe = 'set -o pipefail; zstd -dc --long=27 "$1" | docker load --quiet';
  await mustRun('bash', ['-c', pipe, 'load', join(folder, 'node-image.tar.zst')], {
    limitS: 180,
    failure: 'The node image could not be loaded',
  });
  report(`  node image from the cache (${seconds(performance.now() - started)})`);
}

/** Limits in seconds, for a machine that is several times slower than in hack/cluster/README.md. */
const STEPS = { programs: 5400, rootfs: 1200, 'node-image': 900 };
/** Steps whose results are files, so that the next run does not repeat them. */
const KEPT_STEPS = ['programs', 'rootfs'];

/** Removes unfinished builds with other keys. @returns this key's folder */
export function draftFolder(root, key) {
  const name = `building-${key}`;
  mkdirSync(join(root, name), { recursive: true });
  for (const each of readdirSync(root)) {
    if (each.startsWith('building-') && each !== name) rmSync(join(root, each), { recursive: true, force: true });
  }
  // Left by scripts that were killed.
  for (const each of readdirSync(join(root, name))) {
    if (/^(tmp$|kept$|node\.)/.test(each)) rmSync(join(root, name, each), { recursive: true, force: true });
  }
  return join(root, name);
}

/**
 * Runs the remaining steps. A failed build's results are kept, and the next build continues with them.
 *
 * @param {(step: string) => Promise<void>} runStep
 */
export async function runSteps(out, runStep) {
  for (const step of Object.keys(STEPS)) {
    const done = join(out, `${step}.done`);
    if (existsSync(done)) continue;
    await runStep(step);
    if (KEPT_STEPS.includes(step)) writeFileSync(done, '');
  }
}

/** The folder gets its name when it is complete. */
async function buildInto(folder, { root, image, report, verify }) {
  mkdirSync(root, { recursive: true });
  report('Building a node image from sources. This takes about ten minutes and is cached…');
  const out = draftFolder(root, basename(folder));
  const draft = image.replace(':', ':draft-');
  try {
    const env = { ...process.env, OUT: out, NODE_IMAGE: draft };
    await runSteps(out, async (step) => {
      const started = performance.now();
      await mustRun(join(scripts, `${step}.sh`), [], {
        env,
        limitS: STEPS[step],
        failure: `hack/cluster/${step}.sh failed`,
        // Only lines with durations. The compiler output is printed after a failure.
        onOutput: reportLines((line) => step === 'programs' && /^ *\S+ \d+ s$/.test(line) && report(line)),
      });
      report(`  ${step} (${seconds(performance.now() - started)})`);
    });
    await verify({ kind: join(out, 'kind'), image: draft, out });
    await mustRun('docker', ['tag', draft, image]);
    await keep(out, image, folder);
    rmSync(out, { recursive: true, force: true });
  } catch (error) {
    if (!(error instanceof RunError)) throw error;
    const kept = `The results are kept in ${out}: run the command again to continue, or delete the folder to start again.`;
    throw new RunError(`${error.message}\n${kept}`);
  } finally {
    // Runs without the abort signal, because an interrupted build also needs a cleanup.
    await run('docker', ['rmi', draft], { signal: undefined });
  }
}

async function keep(out, image, folder) {
  const kept = join(out, 'kept');
  mkdirSync(kept);
  await copyFile(join(out, 'kind'), join(kept, 'kind'));
  const pipe = 'set -o pipefail; docker save "$1" | zstd -q -T0 -9 --long=27 -o "$2"';
  await mustRun('bash', ['-c', pipe, 'keep', image, join(kept, 'node-image.tar.zst')], { limitS: 300 });
  renameSync(kept, folder);
}

/** Removes all but the newest keys, with their images. */
async function prune(root, key) {
  for (const old of oldKeys(root, key)) {
    rmSync(join(root, old), { recursive: true, force: true });
    await run('docker', ['rmi', `${REPOSITORY}:${old}`]);
  }
}

/** @returns the names in `root` that are keys, without `key` and the ones used last */
export function oldKeys(root, key, kept = OTHERS_KEPT) {
  return readdirSync(root)
    .filter((name) => /^[0-9a-f]{16}$/.test(name) && name !== key)
    .map((name) => ({ name, used: statSync(join(root, name)).mtimeMs }))
    .toSorted((a, b) => b.used - a.used)
    .slice(kept)
    .map(({ name }) => name);
}

/** Prints chunks of output line by line. */
export function reportLines(report) {
  let rest = '';
  return (text) => {
    const lines = `${rest}${text}`.split('\n');
    rest = lines.pop();
    for (const line of lines) if (line.trim() !== '') report(`    ${line}`);
  };
}
