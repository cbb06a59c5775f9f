import { createHash } from 'node:crypto';
import { beforeAll, expect, it } from '@jest/globals';
import { describeWith } from '../../packages/testkit/dist/index.js';
import { createExecutable } from './executable.mjs';
import { PLATFORMS } from './platforms.mjs';

const BUILD_MS = 400_000;
const MACH_O_64 = 0xfe_ed_fa_cf;
const LC_CODE_SIGNATURE = 0x1d;
const SUPER_BLOB = 0xfa_de_0c_c0;
const CODE_DIRECTORY = 0xfa_de_0c_02;
const ADHOC = 0x2;

/** The signature's code directory, read as macOS reads it. */
function codeDirectoryOf(file) {
  if (file.readUInt32LE(0) !== MACH_O_64) throw new Error('this is not a Mach-O file');
  let command = 32;
  for (let left = file.readUInt32LE(16); left > 0; left -= 1) {
    if (file.readUInt32LE(command) === LC_CODE_SIGNATURE) break;
    command += file.readUInt32LE(command + 4);
  }
  const blob = file.subarray(file.readUInt32LE(command + 8));
  if (blob.readUInt32BE(0) !== SUPER_BLOB) throw new Error('there is no signature');
  const directory = blob.subarray(blob.readUInt32BE(16));
  if (directory.readUInt32BE(0) !== CODE_DIRECTORY) throw new Error('there is no code directory');
  return {
    flags: directory.readUInt32BE(12),
    hashes: directory.subarray(directory.readUInt32BE(16)),
    identity: directory.subarray(directory.readUInt32BE(20)),
    pages: directory.readUInt32BE(28),
    codeLimit: directory.readUInt32BE(32),
    hashType: directory[37],
    pageSize: 1 << directory[39],
  };
}

describeWith('go', 'the executable for macOS', () => {
  let file;
  let directory;
  beforeAll(async () => {
    const platform = PLATFORMS.find(({ name }) => name === 'darwin/arm64');
    file = await createExecutable("console.log('hello')", platform);
    directory = codeDirectoryOf(file);
  }, BUILD_MS);

  it('has an ad-hoc signature', () => {
    expect(directory.flags & ADHOC).toBe(ADHOC);
    expect(directory.identity.toString('utf8', 0, directory.identity.indexOf(0))).toBe('uswarmctl');
  });

  it('has a signature that matches each page of the file', () => {
    const { codeLimit, pages, pageSize, hashes, hashType } = directory;
    expect({ hashType, pages }).toEqual({ hashType: 2, pages: Math.ceil(codeLimit / pageSize) });
    const wrong = Array.from({ length: pages }, (_, page) => page).filter((page) => {
      const content = file.subarray(page * pageSize, Math.min((page + 1) * pageSize, codeLimit));
      const hash = createHash('sha256').update(content).digest();
      return !hash.equals(hashes.subarray(page * 32, (page + 1) * 32));
    });
    expect(wrong).toEqual([]);
    // The added program is signed too.
    expect(codeLimit).toBeGreaterThan(file.lastIndexOf("console.log('hello')"));
  });
});
