import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { nodeBinary } from './environment.mjs';
import { createRunFolder } from './run-folder.mjs';

let parent;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'run-folder-'));
});
afterEach(() => rmSync(parent, { recursive: true, force: true }));

describe('the folder of a run', () => {
  it('is in the chosen folder, and all users can write to it', () => {
    const folder = createRunFolder({ chosen: parent });
    expect(dirname(folder)).toBe(parent);
    expect(statSync(folder).mode & 0o7777).toBe(0o1777);
  });

  it('is in the default folder without a file system in memory', () => {
    const folder = createRunFolder({ chosen: null, memory: join(parent, 'missing') });
    rmSync(folder, { recursive: true });
    expect(dirname(folder)).toBe(tmpdir());
  });

  it('replaces the folders of killed runs, and keeps those of others', () => {
    const { pid: dead } = spawnSync(nodeBinary, ['--version']);
    const [killed, running, other] = [`uswarm-run-${dead}-a`, `uswarm-run-${process.ppid}-a`, 'uswarm-run-else'].map(
      (name) => join(parent, name),
    );
    for (const folder of [killed, running, other]) mkdirSync(folder);
    createRunFolder({ chosen: parent });
    expect([killed, running, other].map((folder) => existsSync(folder))).toEqual([false, true, true]);
  });
});
