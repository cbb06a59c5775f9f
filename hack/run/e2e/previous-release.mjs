import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { nodeBinary, repositoryRoot } from '../environment.mjs';
import { mustRun, run } from './commands.mjs';
import { cacheFolder } from './settings.mjs';

// The previous release for upgrade tests: its chart, its CRD, and images that its own commands build from its sources.
const archive = join(repositoryRoot, 'e2e/fixtures/previous-release.tar.gz');
const cache = join(repositoryRoot, '.cache/previous-release');

const contentOf = (file) => createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, 12);

/** The folder of its unpacked sources. */
export async function unpackPreviousRelease() {
  const folder = join(cache, contentOf(archive));
  if (existsSync(folder)) return folder;
  const draft = `${folder}.new`;
  rmSync(cache, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  await mustRun('tar', ['-xzf', archive, '-C', draft], { failure: 'The release before could not be unpacked' });
  keepArchivedProjects(join(draft, 'tsconfig.json'));
  renameSync(draft, folder);
  return folder;
}

/** `tsc -b` fails without a project's sources, and the archive omits packages that no image contains. */
function keepArchivedProjects(file) {
  const { references, ...config } = JSON.parse(readFileSync(file, 'utf8'));
  const archived = references.filter(({ path }) => existsSync(join(dirname(file), path, 'tsconfig.json')));
  writeFileSync(file, JSON.stringify({ ...config, references: archived }));
}

/**
 * Builds its service images with separate tags, unless an earlier run of any checkout has built them from the same sources.
 *
 * @returns {Promise<Record<string, string>>} `previous-<name>` → reference
 */
export async function buildPreviousImages({ folder, local }) {
  const lists = join(cacheFolder(), 'previous-release');
  const list = join(lists, `${contentOf(archive)}-${local ? 'local' : 'public'}.json`);
  const known = existsSync(list) ? readImages(list) : undefined;
  if (known && (await allExist(Object.values(known)))) return known;
  mkdirSync(lists, { recursive: true });
  const base = local ? ['--base', 'local'] : [];
  await mustRun(nodeBinary, ['hack/run.mjs', 'images', '--tag', 'content', '--list', list, ...base], {
    cwd: folder,
    limitS: 1800,
    failure: 'The images of the release before could not be built',
  });
  return readImages(list);
}

function readImages(list) {
  const images = JSON.parse(readFileSync(list, 'utf8'));
  return Object.fromEntries(Object.entries(images).map(([name, ref]) => [`previous-${name}`, ref]));
}

async function allExist(refs) {
  return (await run('docker', ['image', 'inspect', ...refs])).code === 0;
}
