import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { draftFolder, runSteps } from './node-image.mjs';

const KEY = 'a'.repeat(16);

describe('a build of the node image', () => {
  let root;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'uswarm-node-image-'));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  /** Runs the steps; one fails. @returns the steps that ran */
  async function build(failing) {
    const ran = [];
    const out = draftFolder(root, KEY);
    const step = async (name) => {
      ran.push(name);
      writeFileSync(join(out, `${name}.result`), '');
      if (name === failing) throw new Error(`${name} failed`);
    };
    await runSteps(out, step).catch((error) => ran.push(error.message));
    return ran;
  }

  it('continues after the last completed step of a failed build', async () => {
    expect(await build('rootfs')).toEqual(['programs', 'rootfs', 'rootfs failed']);
    expect(await build('node-image')).toEqual(['rootfs', 'node-image', 'node-image failed']);
    expect(await build()).toEqual(['node-image']);
  });

  it('keeps what a failed step has made', async () => {
    await build('programs');
    expect(existsSync(join(draftFolder(root, KEY), 'programs.result'))).toBe(true);
  });

  it('assembles the image again if it was not verified', async () => {
    await build();
    expect(await build()).toEqual(['node-image']);
  });

  it('deletes builds of other contents, and its own temporary folders', () => {
    mkdirSync(join(root, 'building-other/programs'), { recursive: true });
    for (const name of ['tmp', 'kept', 'node.Ab12', 'cni']) {
      mkdirSync(join(root, `building-${KEY}`, name), { recursive: true });
    }
    mkdirSync(join(root, KEY));
    expect(readdirSync(draftFolder(root, KEY))).toEqual(['cni']);
    expect(readdirSync(root).toSorted()).toEqual([KEY, `building-${KEY}`]);
  });
});
