import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nodeBinary, repositoryRoot, seconds } from './environment.mjs';
import { runQuietly, tail } from './quiet.mjs';
import { RunError } from './run-error.mjs';

/** The package that npx runs. */
export const PNPM = 'pnpm@12.21.0';
const PROGRESS_MS = 10_000;
/** Contains the installed packages' fingerprint. */
export const stampFile = join(repositoryRoot, 'node_modules/.uswarm-installed');

/**
 * Installs the locked packages unless exactly these are installed already.
 *
 * @param note a line about this installation @throws RunError
 */
export async function install(note) {
  const wanted = fingerprint(repositoryRoot);
  if (existsSync(nodeBinary) && readOrEmpty(stampFile) === wanted) return;
  console.log('Installing packages (the first time takes a minute or two)…');
  if (note !== undefined) console.log(`  ${note}`);
  const started = performance.now();
  const { code, output } = await runInstall(started);
  if (code !== 0) throw installFailure(output);
  mkdirSync(join(repositoryRoot, 'node_modules'), { recursive: true });
  writeFileSync(stampFile, wanted);
  console.log(`Packages installed (${seconds(performance.now() - started)}).`);
}

/** Shorter timeouts: by default npm and pnpm report a missing network after a minute or more. */
const quickRetries = Object.fromEntries(
  ['npm', 'pnpm'].flatMap((tool) => [
    [`${tool}_config_fetch_retry_mintimeout`, '1000'],
    [`${tool}_config_fetch_retry_maxtimeout`, '5000'],
  ]),
);

async function runInstall(started) {
  let progress = '';
  const ticker = setInterval(() => {
    console.log(`  ${progress || 'fetching pnpm'} (${seconds(performance.now() - started)})`);
  }, PROGRESS_MS);
  try {
    return await runQuietly('npx', ['--yes', PNPM, 'install', '--frozen-lockfile', '--reporter=append-only'], {
      cwd: repositoryRoot,
      // Keeps npm's variables, which contain the user's registry and proxy. CI: pnpm must not prompt.
      env: { ...quickRetries, ...process.env, CI: 'true' },
      onOutput: (text) => {
        progress = latestProgress(text) ?? progress;
      },
    });
  } finally {
    clearInterval(ticker);
  }
}

/** The last progress line of pnpm, such as `resolved 10, reused 2, downloaded 7, added 5`. */
export function latestProgress(text) {
  return [...text.matchAll(/^Progress: (.*?)(?:, done)?$/gm)].at(-1)?.[1];
}

const OFFLINE =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|UND_ERR_CONNECT_TIMEOUT|fetch failed)\b/;

export function installFailure(output) {
  if (OFFLINE.test(output)) {
    return new RunError(
      'The packages could not be downloaded: the registry cannot be reached. ' +
        'Check the network, or the proxy and registry settings of npm, and try again.',
    );
  }
  if (/spawn npx ENOENT/.test(output)) {
    return new RunError('The packages could not be installed: npm and npx are not on PATH. Install npm and try again.');
  }
  if (/ENOSPC|no space left on device/i.test(output)) {
    return new RunError('The packages could not be installed: the disk is full. Free about 1 GB and try again.');
  }
  if (/\b(EACCES|EROFS|EPERM)\b/.test(output)) {
    const path = /(?:^npm error path |(?:EACCES|EROFS|EPERM)[^\n]*? ')(\/[^'\n]+)/m.exec(output)?.[1];
    return new RunError(
      `The packages could not be installed: ${path ?? 'a folder of this user'} cannot be written. ` +
        'Set npm_config_cache and XDG_CACHE_HOME to folders that can be, and check who owns the checkout.',
    );
  }
  if (/ERR_PNPM_OUTDATED_LOCKFILE/.test(output)) {
    return new RunError(
      `A package.json and pnpm-lock.yaml differ: run \`npx ${PNPM} install\` and commit the lock file.`,
    );
  }
  return new RunError(`${tail(output)}\n\nThe packages could not be installed: see above.`);
}

/** A hash that changes if the installation may be outdated. */
export function fingerprint(root, platform = `${process.platform}-${process.arch}`) {
  const hash = createHash('sha256').update(`${PNPM} ${platform}\n`);
  for (const file of ['pnpm-lock.yaml', 'pnpm-workspace.yaml', ...manifests(root)]) {
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0');
  }
  return hash.digest('hex');
}

/** Every package.json in the workspace, the root's first. */
export function manifests(root) {
  const patterns = workspacePatterns(readFileSync(join(root, 'pnpm-workspace.yaml'), 'utf8'));
  const folders = patterns.flatMap((pattern) => {
    if (!pattern.endsWith('/*')) return [pattern];
    const parent = pattern.slice(0, -2);
    if (!existsSync(join(root, parent))) return [];
    return readdirSync(join(root, parent)).map((name) => `${parent}/${name}`);
  });
  const inFolders = folders.map((folder) => `${folder}/package.json`).filter((file) => existsSync(join(root, file)));
  return ['package.json', ...inFolders.toSorted()];
}

/** Reads the list under `packages:` without a YAML parser, because no package is installed yet. */
export function workspacePatterns(yaml) {
  const list = /^packages:\n((?:[ \t]+-.*\n|[ \t]*#.*\n|\n)+)/m.exec(`${yaml}\n`)?.[1] ?? '';
  return [...list.matchAll(/^[ \t]+-[ \t]*["']?([^"'\s#]+)/gm)].map(([, pattern]) => pattern);
}

function readOrEmpty(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}
