import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder } from '../run/e2e/settings.mjs';
import { runQuietly } from '../run/quiet.mjs';
import { RunError } from '../run/run-error.mjs';
import { NODE_VERSION } from './platforms.mjs';

/**
 * Unpacks the official Node.js program for a platform from npm into the user's cache, after a check of its integrity.
 *
 * @param {import('./platforms.mjs').Platform} platform
 * @returns {Promise<{ program: string, licence: string }>} paths
 * @throws RunError if npm fails, or returns another content
 */
export async function nodeProgram({ package: name, integrity, program }) {
  const folder = join(cacheFolder(), `${name}-${NODE_VERSION}`);
  if (!existsSync(folder)) await fetchInto(folder, { name, integrity });
  return { program: join(folder, program), licence: join(folder, 'LICENSE') };
}

async function fetchInto(folder, { name, integrity }) {
  await mkdir(cacheFolder(), { recursive: true });
  const work = await mkdtemp(`${folder}.`);
  try {
    const archive = join(work, `${name}-${NODE_VERSION}.tgz`);
    await run('npm', ['pack', '--silent', `${name}@${NODE_VERSION}`, '--pack-destination', work], work);
    const actual = `sha512-${createHash('sha512')
      .update(await readFile(archive))
      .digest('base64')}`;
    if (actual !== integrity) throw new RunError(`${name}@${NODE_VERSION} from npm is not the pinned one: ${actual}`);
    await run('tar', ['-xzf', archive, '-C', work], work);
    await rename(join(work, 'package'), folder).catch((error) => {
      // A concurrent process unpacked the same content.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function run(command, args, cwd) {
  const { code, output } = await runQuietly(command, args, { cwd });
  if (code !== 0) throw new RunError(`${command} ${args[0]} failed: ${output.trim()}`);
}
