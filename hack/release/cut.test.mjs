import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { repositoryRoot } from '../run/environment.mjs';
import { cutRelease } from './cut.mjs';

describe('cutting a release', () => {
  let root;
  const git = (...args) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  const read = (file) => readFileSync(join(root, file), 'utf8');
  const write = (file, text) => {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  };
  const cut = (regenerate = () => {}) => cutRelease({ root, date: new Date('2026-12-01T10:00:00Z'), regenerate });

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'uswarm-cut-'));
    git('init', '--quiet');
    git('config', 'user.name', 'Test');
    git('config', 'user.email', 'test@example.com');
    write('CHANGELOG.md', '# Changelog\n\n## Unreleased (0.3)\n\n- New.\n\n## 0.2.0 - 2026-11-21\n');
    write('package.json', '{\n  "version": "0.3.0"\n}\n');
    write('packages/a/package.json', '{\n  "version": "0.3.0",\n  "dependencies": { "b": "0.3.0" }\n}\n');
    write('charts/uswarm/Chart.yaml', 'name: uswarm\nversion: 0.3.0\nappVersion: 0.3.0\n');
    write('docs/a.md', 'Run uswarm/orchestrator:0.3.0; other/thing:0.3.0 stays.\n');
    write('docs/generated.txt', '0.3.0\n');
    write('README.md', 'helm install --version 0.3.0\n');
    write('e2e/fixtures/README.md', 'For 0.2.0 it is `ee95d860`:\n\n    e2e/fixtures/archive.sh ee95d860 | gzip\n');
    cpSync(join(repositoryRoot, 'e2e/fixtures/archive.sh'), join(root, 'e2e/fixtures/archive.sh'));
    git('add', '--all');
    git('commit', '--quiet', '-m', 'feat: begin');
  });
  afterEach(() => rmSync(root, { recursive: true }));

  it('tags the version, and begins the next one with the released sources for the tests of upgrades', async () => {
    const [line] = await cut(() => write('docs/generated.txt', '0.4.0\n'));

    const released = git('rev-parse', '--short=8', 'v0.3.0^{commit}');
    expect(line).toBe(`Tagged v0.3.0 (${released}); the checkout is 0.4.0 now.`);
    expect(git('log', '--format=%s')).toBe('chore: begin 0.4.0\nchore(release): 0.3.0\nfeat: begin');
    expect(git('show', 'v0.3.0:CHANGELOG.md')).toContain('## 0.3.0 - 2026-12-01\n\n- New.');
    expect(git('show', 'v0.3.0:package.json')).toContain('"0.3.0"');
    expect(git('status', '--porcelain')).toBe('');

    expect(read('CHANGELOG.md')).toContain('## Unreleased (0.4)\n\n## 0.3.0 - 2026-12-01');
    expect(read('package.json')).toContain('"version": "0.4.0"');
    expect(read('packages/a/package.json')).toContain('"version": "0.4.0",\n  "dependencies": { "b": "0.3.0" }');
    expect(read('charts/uswarm/Chart.yaml')).toBe('name: uswarm\nversion: 0.4.0\nappVersion: 0.4.0\n');
    expect(read('docs/a.md')).toBe('Run uswarm/orchestrator:0.4.0; other/thing:0.3.0 stays.\n');
    expect(read('README.md')).toBe('helm install --version 0.4.0\n');
    expect(git('show', 'HEAD:docs/generated.txt')).toBe('0.4.0');
    expect(read('e2e/fixtures/README.md')).toContain(
      `For 0.3.0 it is \`${released}\`:\n\n    e2e/fixtures/archive.sh ${released} |`,
    );

    const archive = gunzipSync(readFileSync(join(root, 'e2e/fixtures/previous-release.tar.gz')));
    expect(
      execFileSync('git', ['get-tar-commit-id'], { input: archive.subarray(0, 1_024), encoding: 'utf8' }).trim(),
    ).toBe(git('rev-parse', 'v0.3.0^{commit}'));
    expect(execFileSync('tar', ['-xO', 'package.json'], { input: archive, encoding: 'utf8' })).toContain('"0.3.0"');
  });

  it('changes nothing in a checkout with other changes, or without a change to release', async () => {
    write('docs/a.md', 'changed\n');
    await expect(cut()).rejects.toThrow('The checkout has changes that are not committed.');
    git('checkout', '--quiet', '.');
    write('CHANGELOG.md', '# Changelog\n\n## Unreleased (0.3)\n\n## 0.2.0 - 2026-11-21\n');
    git('commit', '--quiet', '--all', '-m', 'docs: empty');
    await expect(cut()).rejects.toThrow('CHANGELOG.md lists no unreleased change.');
    expect([git('tag'), git('status', '--porcelain')]).toEqual(['', '']);
  });
});
