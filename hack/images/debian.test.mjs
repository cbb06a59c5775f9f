import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { finishingScript, rootHash } from './debian.mjs';

let folder;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'uswarm-root-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function finish(root) {
  return spawnSync('bash', ['-O', 'extglob', '-c', finishingScript(root), 'bash', folder], { encoding: 'utf8' });
}

function write(path) {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), path);
}

describe('a root of Debian packages', () => {
  it('the root file system keeps only programs and licences', () => {
    for (const path of ['usr/bin/tool', 'usr/bin/extra', 'usr/share/doc/tool/copyright']) write(path);
    for (const path of ['usr/share/doc/tool/changelog.gz', 'usr/share/man/man1/tool.1', 'etc/hostname']) write(path);
    symlinkSync('/nowhere', join(folder, 'etc/broken'));
    const { status, stderr } = finish({ remove: ['usr/bin/extra'], commands: ['echo hello > etc/greeting'] });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(readdirSync(join(folder, 'etc')).toSorted()).toEqual(['greeting', 'group', 'nsswitch.conf', 'passwd']);
    expect(readdirSync(join(folder, 'usr'), { recursive: true }).toSorted()).toEqual([
      'bin',
      'bin/tool',
      'share',
      'share/doc',
      'share/doc/tool',
      'share/doc/tool/copyright',
    ]);
  });

  it.each(['run', 'tmp'])('the build fails if /%s is a link, which the cleanup would follow', (name) => {
    const elsewhere = join(folder, 'elsewhere');
    mkdirSync(elsewhere);
    const { status, stderr } = finish({ commands: [`rm -r ${name}; ln -s ${elsewhere} ${name}`] });
    expect(status).toBe(1);
    expect(stderr).toContain(`${name} must not be a link`);
    expect(existsSync(elsewhere)).toBe(true);
  });

  it('the hash of a root depends on its packages, patterns, commands and inputs', () => {
    const root = { name: 'x', packages: ['a'] };
    const others = [{ packages: ['a', 'b'] }, { remove: ['usr/x'] }, { commands: ['true'] }, { inputs: ['1'] }];
    const hashes = [root, ...others.map((change) => ({ ...root, ...change }))].map(rootHash);
    expect(new Set(hashes).size).toBe(hashes.length);
    expect(rootHash({ ...root })).toBe(hashes[0]);
  });
});
