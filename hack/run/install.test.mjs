import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fingerprint, installFailure, latestProgress, manifests, workspacePatterns } from './install.mjs';

let root = '';

function write(file, text) {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'install-'));
  write('package.json', '{}');
  write('pnpm-lock.yaml', 'lock');
  write('pnpm-workspace.yaml', 'packages:\n  - packages/*\n  - "e2e" # one\n\ncatalogs:\n  dev:\n    - no/*\n');
  write('packages/b/package.json', '{"name":"b"}');
  write('packages/a/package.json', '{"name":"a"}');
  write('packages/notes/readme.md', '');
});

afterEach(() => rmSync(root, { recursive: true }));

describe('the installation', () => {
  const files = [
    'pnpm-lock.yaml',
    'pnpm-workspace.yaml',
    'package.json',
    'packages/b/package.json',
    'packages/c/package.json',
  ];

  it.each(files)('the installation is repeated when %s changes', (file) => {
    const before = fingerprint(root);
    expect(fingerprint(root)).toBe(before);
    write(file, 'packages:\n  - packages/*\n# changed\n');
    expect(fingerprint(root)).not.toBe(before);
  });

  it('the installation is repeated on another platform', () => {
    expect(fingerprint(root, 'linux-x64')).not.toBe(fingerprint(root, 'linux-arm64'));
  });

  it('the installation is not repeated for a file outside of the packages', () => {
    const before = fingerprint(root);
    write('packages/notes/package.txt', 'x');
    expect(fingerprint(root)).toBe(before);
  });
});

describe('the workspace', () => {
  it('workspacePatterns reads pnpm-workspace.yaml without a YAML parser', () => {
    expect(workspacePatterns("packages:\n  - a/*\n  - 'b'\n\n# more\ncatalogs:\n  x:\n    - c\n")).toEqual([
      'a/*',
      'b',
    ]);
    expect(workspacePatterns('catalogs: {}\n')).toEqual([]);
  });

  it('manifests are listed in an order that does not depend on the file system', () => {
    expect(manifests(root)).toEqual(['package.json', 'packages/a/package.json', 'packages/b/package.json']);
  });
});

describe('installFailure', () => {
  it.each([
    ['npm error code ENOTFOUND', /registry cannot be reached\. Check the network/],
    [
      ' ERR_PNPM_META_FETCH_FAIL  request to … failed, reason: connect ECONNREFUSED 127.0.0.1:1',
      /registry cannot be reached/,
    ],
    ['spawn npx ENOENT', /npm and npx are not on PATH/],
    [
      "npm error code EACCES\nnpm error syscall mkdir\nnpm error path /home/ada/.npm\nnpm error   sudo chown -R 1000:1000 '/home/ada/.npm'",
      /installed: \/home\/ada\/\.npm cannot be written\. Set npm_config_cache/,
    ],
    [
      " ERR_PNPM_EROFS  EROFS: read-only file system, mkdir '/data/store'",
      /installed: \/data\/store cannot be written/,
    ],
    ['EPERM: operation not permitted', /installed: a folder of this user cannot be written/],
    ['ENOSPC: no space left on device, write', /disk is full/],
    [' ERR_PNPM_OUTDATED_LOCKFILE  Cannot install', /differ: run `npx pnpm@/],
  ])('explains %s', (output, sentence) => {
    const { message } = installFailure(`many lines\n${output}\nmore`);
    expect(message).toMatch(sentence);
    expect(message).not.toContain('\n');
  });

  it('prints the end of the log for an unknown reason', () => {
    expect(installFailure('one\ntwo').message).toBe('one\ntwo\n\nThe packages could not be installed: see above.');
  });
});

it('prints the latest progress', () => {
  const text = 'Progress: resolved 1, reused 0\nother\nProgress: resolved 9, reused 9, added 9, done\n';
  expect(latestProgress(text)).toBe('resolved 9, reused 9, added 9');
  expect(latestProgress('nothing')).toBeUndefined();
});
