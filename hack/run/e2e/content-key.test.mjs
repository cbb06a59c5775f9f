import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { contentKey } from './content-key.mjs';
import { oldKeys, reportLines } from './node-image.mjs';

describe('the cache of node images', () => {
  let folder;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'uswarm-key-'));
    mkdirSync(join(folder, 'go/kube'), { recursive: true });
    writeFileSync(join(folder, 'go/kube/go.mod'), 'module kube');
    writeFileSync(join(folder, 'env.sh'), 'A=1');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('the key depends on scripts, checksums, configuration and machine', () => {
    const keys = [contentKey(folder)];
    keys.push(contentKey(folder, { config: 'audit' }), contentKey(folder, { arch: 'arm64' }));
    writeFileSync(join(folder, 'go/kube/go.mod'), 'module kube2');
    keys.push(contentKey(folder));
    writeFileSync(join(folder, 'go/kube/go.sum'), '');
    keys.push(contentKey(folder));
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys[0]).toMatch(/^[0-9a-f]{16}$/);
  });

  it('the key does not depend on files outside the node image', () => {
    const before = contentKey(folder);
    writeFileSync(join(folder, 'README.md'), 'Read me.');
    writeFileSync(join(folder, 'dockerd.sh'), 'exit 0');
    expect(contentKey(folder)).toBe(before);
  });

  it('deletes all but the current and the previous key', () => {
    const keys = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(16));
    for (const [age, key] of keys.entries()) {
      mkdirSync(join(folder, key));
      utimesSync(join(folder, key), 1_000 - age, 1_000 - age);
    }
    expect(oldKeys(folder, keys[2])).toEqual([keys[1], keys[3]]);
  });

  it('prints output line by line for any chunks', () => {
    const lines = [];
    const take = reportLines((line) => lines.push(line));
    for (const piece of ['ku', 'be 3 s\n\net', 'cd 4 s\nrest']) take(piece);
    expect(lines).toEqual(['    kube 3 s', '    etcd 4 s']);
  });
});
