import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { repositoryRoot, serviceEnvironment } from '../run/environment.mjs';
import { PNPM } from '../run/install.mjs';
import { runQuietly, tail } from '../run/quiet.mjs';
import { RunError } from '../run/run-error.mjs';

/** Folders with a published package, which is not private. */
export function publishedPackages(root = repositoryRoot) {
  return globSync('packages/*/package.json', { cwd: root })
    .toSorted()
    .filter((file) => JSON.parse(readFileSync(join(root, file), 'utf8')).private !== true)
    .map((file) => dirname(file));
}

/** Writes the package as it is published. @returns the tarball's path */
export async function packPackage(folder, into) {
  const output = await pnpm(folder, ['pack', '--json', '--pack-destination', into], `${folder} could not be packed`);
  return join(
    into,
    JSON.parse(output.slice(output.indexOf('{')))
      .filename.split('/')
      .at(-1),
  );
}

/**
 * Publishes packages with the credentials of npm's configuration, except versions that are in the registry already.
 *
 * @param {string[]} folders
 * @param {{ registry?: string, dryRun: boolean }} options `dryRun`: publish nothing
 */
export async function publishPackages(folders, { registry, dryRun }) {
  const args = ['publish', '--recursive', ...folders.flatMap((folder) => ['--filter', `./${folder}`])];
  args.push('--no-git-checks', '--access', 'public');
  if (registry !== undefined) args.push('--registry', registry);
  if (dryRun) args.push('--dry-run');
  // npm signs where a CI job has an identity.
  else if (process.env.ACTIONS_ID_TOKEN_REQUEST_URL !== undefined) args.push('--provenance');
  return pnpm('.', args, 'The npm packages could not be published');
}

async function pnpm(folder, args, failure) {
  const options = { cwd: join(repositoryRoot, folder), env: serviceEnvironment() };
  const { code, output } = await runQuietly('npx', ['--yes', PNPM, ...args], options);
  if (code !== 0) throw new RunError(`${tail(output, 10)}\n\n${failure}.`);
  return output;
}
