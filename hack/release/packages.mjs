import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { repositoryRoot, serviceEnvironment } from '../run/environment.mjs';
import { PNPM } from '../run/install.mjs';
import { mustRunQuietly } from '../run/quiet.mjs';

/** Folders with a published package, which is not private. */
export function publishedPackages(root = repositoryRoot) {
  return globSync('packages/*/package.json', { cwd: root })
    .toSorted()
    .filter((file) => JSON.parse(readFileSync(join(root, file), 'utf8')).private !== true)
    .map((file) => dirname(file));
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
  const options = {
    cwd: repositoryRoot,
    env: serviceEnvironment(),
    failure: 'The npm packages could not be published',
  };
  await mustRunQuietly('npx', ['--yes', PNPM, ...args], options);
}
