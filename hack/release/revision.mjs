import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gitRevision } from '../images/service-images.mjs';
import { repositoryRoot } from '../run/environment.mjs';
import { runQuietly } from '../run/quiet.mjs';
import { RunError } from '../run/run-error.mjs';
import { notesOf, unwrapped } from './changelog.mjs';

/**
 * The checkout's commit, and its repository's address. A dry run accepts any commit, also with changes.
 *
 * @throws RunError unless the version's tag is this commit
 */
export async function currentRevision(version, dryRun) {
  const git = async (...args) => {
    const { code, output } = await runQuietly('git', args, { cwd: repositoryRoot });
    return code === 0 ? output.trim() : undefined;
  };
  const commit = await gitRevision();
  const source = sourceOf((await git('config', '--get', 'remote.origin.url')) ?? `file://${repositoryRoot}`);
  if (dryRun) return { commit, source };
  if (commit.endsWith('-dirty'))
    throw new RunError('The checkout has changes that are not committed: a release is built from a commit.');
  const tagged = await git('rev-parse', '--verify', '--quiet', `v${version}^{commit}`);
  if (tagged !== commit)
    throw new RunError(`This commit is not v${version}: check out the tag that \`npm run release -- --cut\` made.`);
  return { commit, source };
}

/** Where the release's files can be downloaded; empty if it is not known. */
export function downloadsOf({ version, downloadUrl }, env = process.env) {
  if (downloadUrl !== undefined) return { baseUrl: downloadUrl };
  if (env.GITHUB_REPOSITORY === undefined) return {};
  const homepage = `${env.GITHUB_SERVER_URL}/${env.GITHUB_REPOSITORY}`;
  return { baseUrl: `${homepage}/releases/download/v${version}`, homepage };
}

/** A repository's address without credentials. */
export function sourceOf(remote, env = process.env) {
  if (env.GITHUB_REPOSITORY !== undefined) return `${env.GITHUB_SERVER_URL}/${env.GITHUB_REPOSITORY}`;
  return remote.replace(/^(https?:\/\/)[^/@]*@/, '$1').replace(/^(?:[^/@]+@)?([^/:]+):(?!\/)/, 'ssh://$1/');
}

/** The version's section in the changelog, with one line for each entry. @throws RunError if it is not released */
export function releaseNotes(version, dryRun) {
  const changelog = readFileSync(join(repositoryRoot, 'CHANGELOG.md'), 'utf8');
  try {
    return unwrapped(notesOf(changelog, version));
  } catch (error) {
    if (dryRun) return `${version} is not released.`;
    throw error;
  }
}
