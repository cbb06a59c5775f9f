import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { installSplitFile, joinParts } from './split-file.js';

const TEXT = 'one two three';
const FILE = {
  title: 'The weights',
  name: 'weights.gguf',
  size: '13 B',
  requirements: [],
  parts: ['part9', 'part10', 'part11'],
  sha256: createHash('sha256').update(TEXT).digest('hex'),
};

let folder: string;
let target: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'uswarm-split-file-'));
  target = join(folder, 'whole');
  await writeFile(join(folder, 'part9'), 'one ');
  await writeFile(join(folder, 'part10'), 'two ');
  await writeFile(join(folder, 'part11'), 'three');
});
afterEach(() => rm(folder, { recursive: true }));

describe('a file in parts', () => {
  it('is joined in the order of the list', async () => {
    await joinParts(FILE, folder, target);
    expect(await readFile(target, 'utf8')).toBe(TEXT);
  });

  it.each([
    ['is not kept if a part has other bytes', 'part10', 'too ', 'do not have the expected hash'],
    ['is not kept if a part is missing', 'part11', undefined, 'part11 is missing'],
  ])('%s', async (_, part, content, message) => {
    await (content === undefined ? rm(join(folder, part)) : writeFile(join(folder, part), content));
    await expect(joinParts(FILE, folder, target)).rejects.toThrow(message);
    expect((await readdir(folder)).filter((name) => name.startsWith('whole'))).toEqual([]);
  });

  it('is not installed again if it is there', async () => {
    const whole = join(folder, `weights.gguf-${FILE.sha256.slice(0, 12)}`);
    await writeFile(whole, TEXT);
    const python = join(folder, 'no-python');
    expect(await installSplitFile(FILE, { directory: folder, python })).toBe(whole);
  });

  it('leaves nothing behind if its packages cannot be installed', async () => {
    const directory = join(folder, 'cache');
    const python = join(folder, 'no-python');
    await expect(installSplitFile(FILE, { directory, python })).rejects.toThrow('does not run as Python');
    expect((await readdir(directory)).filter((name) => !name.endsWith('.lock'))).toEqual([]);
  });
});
