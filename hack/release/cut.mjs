import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { generate } from '../run/generate.mjs';
import { currentVersion, repositoryRoot } from '../run/environment.mjs';
import { RunError } from '../run/run-error.mjs';
import { releaseSection, withUnreleased } from './changelog.mjs';
import { nextMinor, setVersion, versionedFiles } from './versions.mjs';

const FIXTURES = 'e2e/fixtures';

/**
 * Commits and tags the version of the checkout, and begins the next one in a second commit: with its number in all packages and
 * with the released sources from which upgrades are tested.
 *
 * @returns lines with the next steps. @throws RunError if the checkout has changes, or if nothing was changed
 */
export async function cutRelease({ root = repositoryRoot, date = new Date(), regenerate = () => generate([]) } = {}) {
  const git = async (...args) =>
    (await promisify(execFile)('git', args, { cwd: root, maxBuffer: 2 ** 28 })).stdout.trim();
  if ((await git('status', '--porcelain')) !== '')
    throw new RunError('The checkout has changes that are not committed.');
  const version = currentVersion(root);
  const next = nextMinor(version);
  const edit = (file, change) => writeFileSync(join(root, file), change(readFileSync(join(root, file), 'utf8')));

  edit('CHANGELOG.md', (text) => releaseSection(text, version, date.toISOString().slice(0, 10)));
  await git(
    'commit',
    '--quiet',
    '--all',
    '-m',
    `chore(release): ${version}`,
    '-m',
    'Dates the section of the changelog.',
  );
  await git('tag', '--annotate', `v${version}`, '-m', `uswarm ${version}`);
  const commit = await git('rev-parse', '--short=8', 'HEAD');

  const { stdout } = await promisify(execFile)(join(root, FIXTURES, 'archive.sh'), ['HEAD'], {
    cwd: root,
    encoding: 'buffer',
    maxBuffer: 2 ** 28,
  });
  writeFileSync(join(root, FIXTURES, 'previous-release.tar.gz'), gzipSync(stdout, { level: 9 }));
  edit(join(FIXTURES, 'README.md'), (text) =>
    text
      .replace(/For \d+\.\d+\.\d+ it is `[0-9a-f]+`/, `For ${version} it is \`${commit}\``)
      .replace(/archive\.sh [0-9a-f]+ /, `archive.sh ${commit} `),
  );
  edit('CHANGELOG.md', (text) => withUnreleased(text, next));
  for (const file of versionedFiles(globSync, root)) edit(file, (text) => setVersion(file, text, version, next));
  await regenerate();
  await git('add', '--all');
  await git(
    'commit',
    '--quiet',
    '-m',
    `chore: begin ${next}`,
    '-m',
    `Upgrades are tested from ${version}, whose sources take the place of the release before.`,
  );
  return [
    `Tagged v${version} (${commit}); the checkout is ${next} now.`,
    `Publish it: git push --follow-tags, and either let the release workflow run, or`,
    `  git checkout v${version} && npm run release -- --registry REGISTRY --keyless`,
  ];
}
