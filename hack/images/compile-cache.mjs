import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nodeBinary } from '../run/environment.mjs';
import { runQuietly, stopOnceListening, tail } from '../run/quiet.mjs';
import { RunError } from '../run/run-error.mjs';
import { docker, tryDocker } from './docker.mjs';

/** Folder in an image, below `/app`, as in the Dockerfile. */
export const COMPILE_CACHE = 'compile-cache';

/** The images' user. Node.js has one cache per version, processor and user. */
const IMAGE_USER = 65_532;

const LIMIT_MS = 60_000;

/**
 * Runs the programs in `folder` once and stores the code that V8 compiled. Its bytes differ between two runs, so they are
 * not part of the image hash. A process without a cache for its Node.js, processor or user compiles the code itself.
 *
 * @param {object} options
 * @param {string} options.folder the content of `/app`
 * @param {string[]} options.programs file names in `dist`, without `.js`
 * @param {Record<string, string>} [options.warmUp] environment that `main` needs to start
 * @param {string} [options.nodeOptions] NODE_OPTIONS in the image: V8 accepts only code that was compiled with equal flags
 * @param {string} [options.node] the image's Node.js
 * @param {number} [options.user] the image's user
 * @throws RunError when a program does not exit by itself, or not within a minute of SIGTERM
 */
export async function writeCompileCache(options) {
  const { folder, programs, warmUp, nodeOptions = '', node = nodeBinary, user = IMAGE_USER } = options;
  const cache = join(folder, COMPILE_CACHE);
  const env = {
    NODE_ENV: 'production',
    NODE_OPTIONS: nodeOptions,
    NODE_COMPILE_CACHE: cache,
    NODE_COMPILE_CACHE_PORTABLE: '1',
  };
  for (const program of programs) {
    const args = [join(folder, 'dist', `${program}.js`)];
    await runUntilListening(node, args, program === 'main' ? { ...env, ...warmUp } : env);
  }
  const parts = readdirSync(join(folder, 'dist')).filter(
    (name) => name.endsWith('.js') && !programs.includes(name.slice(0, -3)),
  );
  const imports = parts.map((name) => `await import(${JSON.stringify(join(folder, 'dist', name))});`).join('\n');
  await runUntilListening(node, ['--input-type=module', '--eval', imports], env);
  settle(cache, user);
}

async function runUntilListening(node, args, env) {
  const child = spawn(node, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const limit = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
  const { output } = await stopOnceListening(child);
  clearTimeout(limit);
  // A process that was killed by a signal has written no cache.
  if (child.signalCode !== null) {
    throw new RunError(`${args[0]} was killed by ${child.signalCode}:\n${tail(output, 10)}`);
  }
}

/** Makes the files readable for all users: Node.js writes them for the current user only. */
function settle(cache, user) {
  const folders = existsSync(cache) ? readdirSync(cache) : [];
  for (const name of folders) {
    for (const file of readdirSync(join(cache, name))) chmodSync(join(cache, name, file), 0o644);
    const settled = join(cache, name.replace(/-\d+$/, `-${user}`));
    if (settled !== join(cache, name)) renameSync(join(cache, name), settled);
    chmodSync(settled, 0o755);
  }
}

/** Where base images have Node.js. */
export const NODE_PLACES = ['/nodejs/bin/node', '/usr/local/bin/node', '/usr/bin/node'];

/**
 * Calls `use` with a base image's Node.js, which must create the compile cache, or with undefined if it does not run
 * on this machine.
 *
 * @param {{ ref: string, node?: string }} base `node`: path of its Node.js outside of Docker, if it exists
 * @param {(node: string | undefined) => Promise<T>} use
 * @template T
 * @returns {Promise<T>}
 */
export async function withNodeOf({ ref, node }, use) {
  if (node !== undefined) return use(node);
  const folder = mkdtempSync(join(tmpdir(), 'uswarm-node-'));
  // Docker warns first when the image is for another processor.
  const container = (await docker(['create', ref, 'node'])).split('\n').at(-1);
  try {
    const copy = join(folder, 'node');
    for (const place of NODE_PLACES) {
      if ((await tryDocker(['cp', '--follow-link', `${container}:${place}`, copy])).code === 0) break;
    }
    const { code } = await runQuietly(copy, ['--version'], {});
    return await use(code === 0 ? copy : undefined);
  } finally {
    await tryDocker(['rm', container]);
    rmSync(folder, { recursive: true, force: true });
  }
}
