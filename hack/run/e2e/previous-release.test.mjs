import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { services } from '../../images/services.mjs';
import { exampleVersions, versionedDocuments, versionedPackages } from '../../release/versions.mjs';
import { repositoryRoot } from '../environment.mjs';

const ARCHIVE = 'e2e/fixtures/previous-release.tar.gz';
const WRITER = join(repositoryRoot, 'e2e/fixtures/archive.sh');
const file = (name) => readFileSync(join(repositoryRoot, name), 'utf8');
const archived = (name) => execFileSync('tar', ['-xzOf', join(repositoryRoot, ARCHIVE), name], { encoding: 'utf8' });
const files = (pattern) => globSync(pattern, { cwd: repositoryRoot, exclude: ['**/node_modules/**'] });

/** The newest released version: the first heading of the changelog with a date. */
const [, released] = /^## (\d+\.\d+\.\d+) - \d{4}-\d{2}-\d{2}$/m.exec(file('CHANGELOG.md'));
const versionsOf = (chart) =>
  ['version', 'appVersion'].map((key) => new RegExp(`^${key}: (\\S+)$`, 'm').exec(chart)?.[1]);
const [version, appVersion] = versionsOf(file('charts/uswarm/Chart.yaml'));
const numbers = (text) => text.split('.').map(Number);

/** Starts the command for images in an unpacked archive: nothing that the command imports is missing. */
function usageOfImages(archive) {
  const cwd = mkdtempSync(join(tmpdir(), 'uswarm-archive-'));
  try {
    execFileSync('tar', ['-x', '-C', cwd], { input: archive });
    return execFileSync(process.execPath, ['hack/run.mjs', 'images', '--help'], { cwd, encoding: 'utf8' });
  } finally {
    rmSync(cwd, { recursive: true });
  }
}

describe('the release from which upgrades are tested', () => {
  it('is the newest one of the changelog', () => {
    const versions = [
      ...versionsOf(archived('charts/uswarm/Chart.yaml')),
      JSON.parse(archived('package.json')).version,
    ];
    expect(versions).toEqual([released, released, released]);
  });

  it('has no file that differs from its commit, in a clone that has the commit', () => {
    const stored = gunzipSync(readFileSync(join(repositoryRoot, ARCHIVE)));
    const options = { cwd: repositoryRoot, maxBuffer: 2 ** 27 };
    // Git reads only the first two blocks.
    const input = stored.subarray(0, 1_024);
    const commit = execFileSync('git', ['get-tar-commit-id'], { input, encoding: 'utf8' }).trim();
    const hasCommit = spawnSync('git', ['cat-file', '-e', commit], options).status === 0;
    const paths = execFileSync('tar', ['-t'], { input: stored, encoding: 'utf8' }).split('\n');
    const archivedFiles = paths.filter((path) => path !== '' && !path.endsWith('/'));
    const git = [
      '--literal-pathspecs',
      '-c',
      'tar.umask=0002',
      'archive',
      '--format=tar',
      commit,
      '--',
      ...archivedFiles,
    ];
    const archives = hasCommit ? [execFileSync('git', git, options)] : [];
    expect(commit).toMatch(/^[0-9a-f]{40}$/);
    expect(archives.map((archive) => archive.equals(stored))).toEqual(archives.map(() => true));
  });

  it('has all files that the command for images imports, if this commit is the next one', () => {
    const options = { cwd: repositoryRoot, maxBuffer: 2 ** 27 };
    const isClone = spawnSync('git', ['rev-parse', '--verify', 'HEAD'], options).status === 0;
    const archives = isClone ? [execFileSync(WRITER, ['HEAD'], options)] : [];
    expect(archives.map(usageOfImages)).toEqual(archives.map(() => expect.stringMatching(/^Usage: npm run images/)));
  });

  it('has all that images copy from their services, if this commit is the next one', () => {
    const git = (args) => spawnSync('git', args, { cwd: repositoryRoot, encoding: 'utf8', maxBuffer: 2 ** 27 }).stdout;
    const copied = services.flatMap(({ name, files: folders = [] }) =>
      folders.flatMap((folder) =>
        git(['ls-tree', '-r', '--name-only', 'HEAD', `services/${name}/${folder}/`]).split('\n'),
      ),
    );
    const archive = spawnSync(WRITER, ['HEAD'], { cwd: repositoryRoot, maxBuffer: 2 ** 27 }).stdout;
    const paths = new Set(spawnSync('tar', ['-t'], { input: archive, encoding: 'utf8' }).stdout.split('\n'));
    expect(copied.filter((path) => path !== '' && !paths.has(path))).toEqual([]);
  });

  it('is older than this version', () => {
    const [ours, theirs] = [numbers(version), numbers(released)];
    const first = ours.findIndex((number, index) => number !== theirs[index]);
    expect(ours[first]).toBeGreaterThan(theirs[first]);
  });
});

describe('the version of the chart', () => {
  it('is that of its images and of all packages', () => {
    const packages = versionedPackages(files);
    const different = packages.filter((name) => JSON.parse(file(name)).version !== version);
    expect({ appVersion, different }).toEqual({ appVersion: version, different: [] });
  });

  it('is in no reference to an image in a test, which would fail with the next version', () => {
    const tests = files('{bench,charts,e2e,evals,packages,services}/**/*.test.ts');
    expect(tests.length).toBeGreaterThan(100);
    const literal = new RegExp(`:${version.replaceAll('.', String.raw`\.`)}\\b`);
    expect(tests.filter((name) => literal.test(file(name)))).toEqual([]);
  });

  it('is the one in the examples of the documentation', () => {
    const found = versionedDocuments(files).flatMap((name) =>
      exampleVersions(file(name)).map((each) => `${name} ${each}`),
    );
    expect(found.length).toBeGreaterThan(5);
    expect(found.filter((each) => !each.endsWith(` ${version}`))).toEqual([]);
  });
});
