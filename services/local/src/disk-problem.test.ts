import { describe, expect, it } from '@jest/globals';
import { describeDiskProblem } from './disk-problem.js';

const failure = (code: string, path?: string): Error => Object.assign(new Error(code), { code, path });

describe('describeDiskProblem', () => {
  it.each([
    [failure('ENOSPC'), 'A file of the data folder cannot be written: the disk is full (ENOSPC).'],
    [failure('EROFS', '/data/lock'), '/data/lock cannot be written: the file system is read-only (EROFS).'],
    [failure('EDQUOT', '/data/lock'), '/data/lock cannot be written: the disk quota is used up (EDQUOT).'],
    [failure('EIO', '/data/lock'), '/data/lock cannot be written: the disk reports an input or output error (EIO).'],
  ])('names file and reason of %s', (error, start) => {
    expect(describeDiskProblem(error)).toBe(
      `${start} Correct that and start again, or set USWARM_DATA_DIR to another folder.`,
    );
  });

  it.each([new Error('other'), failure('ENOENT', '/data/lock'), undefined, 'text'])(
    'leaves %s to its stack',
    (error) => {
      expect(describeDiskProblem(error)).toBeUndefined();
    },
  );
});
