import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { currentVersion, repositoryRoot } from '../run/environment.mjs';
import { RunError } from '../run/run-error.mjs';
import { tarGz, zip } from './archive.mjs';
import { bundleCtl, licencesOf } from './bundle.mjs';
import { createExecutable } from './executable.mjs';
import { krewManifest } from './krew-manifest.mjs';
import { nodeProgram } from './node-program.mjs';
import { PLATFORMS, requireOwnPlatform } from './platforms.mjs';

/**
 * A written file. `platform` is `any` for files that are not an executable's archive.
 *
 * @typedef {{ file: string, platform: string, sha256: string }} BuiltFile
 */

/**
 * Writes `uswarmctl.mjs`, which runs on any machine with Node.js 22.19 or newer, an archive with one executable per platform,
 * and the krew manifest that names these archives. The built packages must be up to date.
 *
 * @param {object} options
 * @param {string} options.out folder, created if it does not exist
 * @param {string[]} [options.platforms] such as `linux/amd64`. Default: all
 * @param {string} [options.baseUrl] URL of the folder from which the archives are downloaded
 * @param {string} [options.homepage] for the manifest
 * @returns {Promise<BuiltFile[]>}
 * @throws RunError
 */
export async function buildCtl({ out, platforms = PLATFORMS.map(({ name }) => name), baseUrl, homepage }) {
  const wanted = platforms.map(findPlatform);
  await mkdir(out, { recursive: true });
  const write = async (name, content, platform = 'any') => {
    await writeFile(join(out, name), content, { mode: name.endsWith('.mjs') ? 0o755 : 0o644 });
    return { file: join(out, name), platform, sha256: createHash('sha256').update(content).digest('hex') };
  };
  const module = await bundleCtl(repositoryRoot, 'esm');
  const program = await bundleCtl(repositoryRoot, 'cjs');
  const licences = await licenceFiles(program.inputs);
  const archives = [];
  for (const platform of wanted) {
    const { name, content } = await archiveOf(platform, { program, licences });
    archives.push(await write(name, content, platform.name));
  }
  const manifest = await krewManifest({ version: currentVersion(), archives, baseUrl, homepage });
  return [await write('uswarmctl.mjs', module.text), ...archives, await write('uswarm.yaml', manifest)];
}

function findPlatform(name) {
  const found = PLATFORMS.find((platform) => platform.name === name);
  if (found !== undefined) return found;
  throw new RunError(`Unknown platform ${name}. Known: ${PLATFORMS.map((platform) => platform.name).join(', ')}.`);
}

async function licenceFiles(inputs) {
  // The package for Windows has none; all contain the same version.
  const { licence } = await nodeProgram(requireOwnPlatform());
  return [
    { name: 'LICENSE', content: await readFile(join(repositoryRoot, 'LICENSE')) },
    { name: 'LICENSE.node', content: await readFile(licence) },
    { name: 'LICENSE.packages', content: Buffer.from(licencesOf(repositoryRoot, inputs)) },
  ];
}

async function archiveOf(platform, { program, licences }) {
  const isWindows = platform.name.startsWith('windows/');
  const files = [
    {
      name: isWindows ? 'uswarmctl.exe' : 'uswarmctl',
      content: await createExecutable(program.text, platform),
      executable: true,
    },
    ...licences,
  ];
  const base = `uswarmctl-${platform.name.replace('/', '-')}`;
  return isWindows
    ? { name: `${base}.zip`, content: await zip(files) }
    : { name: `${base}.tar.gz`, content: await tarGz(files) };
}
