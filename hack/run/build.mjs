import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { downloadPythonWheels } from '../code-runner/python-wheels.mjs';
import { REFERENCE_PAGES, SOURCES } from '../reference-pages/bundle.mjs';
import { STAMP, writeReferencePages } from '../reference-pages/write.mjs';
import { PAGE_STAMP, writePage } from '../web/write.mjs';
import { nodeBinary, repositoryRoot, seconds, serviceEnvironment } from './environment.mjs';
import { stampFile as installStamp } from './install.mjs';
import { runQuietly, tail } from './quiet.mjs';
import { RunError } from './run-error.mjs';

/** Longer than an up-to-date `tsc -b`, so that it prints nothing. */
const WORTH_A_LINE_MS = 1_000;

/** Fingerprints of the last successful build's sources and outputs. */
const stampFile = join(repositoryRoot, '.cache/built');

/** Runs `tsc -b`, also if everything is up to date. @throws RunError */
export async function build({ root = repositoryRoot, stamp = stampFile, run = () => compile(['-b']) } = {}) {
  // Before the build, which may miss a later change.
  const sources = stateOfSources(root);
  const started = performance.now();
  const announce = setTimeout(() => console.log('Building…'), WORTH_A_LINE_MS);
  const { code, output } = await run();
  clearTimeout(announce);
  const took = performance.now() - started;
  if (code !== 0) throw new RunError(`${tail(output)}\n\nThe build failed: see above.`);
  if (took > WORTH_A_LINE_MS) console.log(`Built (${seconds(took)}).`);
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, `${sources}\n${stateOfOutputs(root)}\n`);
}

/**
 * Builds unless no file has changed since the last build. Unlike `tsc -b`, which takes seconds on a busy machine, the check only reads
 * file times and sizes.
 *
 * @throws RunError
 */
export async function buildIfChanged(options = {}) {
  const { root = repositoryRoot, stamp = stampFile } = options;
  if (readOrEmpty(stamp) === `${stateOfSources(root)}\n${stateOfOutputs(root)}\n`) return;
  await build(options);
}

/** Changes with each file that `tsc -b` may read. */
function stateOfSources(root) {
  const hash = createHash('sha256').update(readOrEmpty(installStamp));
  for (const name of ['tsconfig.json', 'tsconfig.base.json']) hash.update(stateOf(join(root, name)));
  for (const folder of [...projects(root), join(root, SOURCES)].filter(existsSync)) addFolder(hash, folder);
  return hash.digest('hex');
}

/** Changes with each project that was built or deleted. */
function stateOfOutputs(root) {
  const hash = createHash('sha256');
  for (const folder of projects(root)) hash.update(stateOf(join(folder, 'dist/.tsbuildinfo')));
  for (const stamp of [join(REFERENCE_PAGES, STAMP), PAGE_STAMP]) hash.update(stateOf(join(root, stamp)));
  return hash.digest('hex');
}

function projects(root) {
  const { references } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'));
  return references.map(({ path }) => join(root, path));
}

function addFolder(hash, folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (entry.name !== 'node_modules' && entry.name !== 'dist') addFolder(hash, path);
    } else hash.update(stateOf(path));
  }
}

function stateOf(path) {
  const { mtimeMs, size } = statSync(path, { throwIfNoEntry: false }) ?? {};
  return `${path}\0${mtimeMs}\0${size}\n`;
}

function readOrEmpty(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/**
 * Runs `tsc`. With `-b`, also writes the page and the reference pages, which local mode and tests serve, and downloads
 * packages for Python code.
 */
export async function compile(args) {
  if (args.includes('-b'))
    await Promise.all([
      writeReferencePages(repositoryRoot),
      writePage(repositoryRoot),
      downloadPythonWheels(repositoryRoot),
    ]);
  return runQuietly(nodeBinary, [join(repositoryRoot, 'node_modules/typescript/bin/tsc'), ...args], {
    cwd: repositoryRoot,
    env: serviceEnvironment(),
  });
}
