import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder } from './e2e/settings.mjs';
import { serviceEnvironment } from './environment.mjs';
import { mustRunQuietly } from './quiet.mjs';
import { RunError } from './run-error.mjs';

/**
 * Unpacks a package from npm into the user's cache. Several processes may do it concurrently.
 *
 * @param {object} options
 * @param {string} options.name
 * @param {string} options.version
 * @param {string} [options.integrity] such as `sha512-…`: another content is refused
 * @param {(line: string) => void} [options.report]
 * @returns {Promise<string>} its folder. @throws RunError if npm fails, or returns another content
 */
export async function unpackNpmPackage({ name, version, integrity, report = () => {} }) {
  const folder = join(cacheFolder(), `${name}-${version}`);
  if (existsSync(folder)) return folder;
  report(`Downloading ${name}@${version}…`);
  await mkdir(cacheFolder(), { recursive: true });
  const work = await mkdtemp(`${folder}.`);
  try {
    const options = { cwd: work, env: serviceEnvironment(), failure: `${name}@${version} could not be downloaded` };
    await mustRunQuietly('npm', ['pack', '--silent', `${name}@${version}`], options);
    const archive = join(work, `${name}-${version}.tgz`);
    if (integrity !== undefined) await requireIntegrity(archive, integrity);
    await mustRunQuietly('tar', ['-xzf', archive], options);
    await rename(join(work, 'package'), folder).catch((error) => {
      // A concurrent process unpacked the same content.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return folder;
}

async function requireIntegrity(archive, integrity) {
  const hash = createHash('sha512').update(await readFile(archive));
  const actual = `sha512-${hash.digest('base64')}`;
  if (actual !== integrity) throw new RunError(`${archive} from npm is not the pinned one: ${actual}`);
}
