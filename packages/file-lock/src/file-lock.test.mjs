import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { LockTimeout, tryLock, withFileLock } from './file-lock.mjs';
import { ownIdentity } from './process-identity.mjs';

let folder = '';
let file = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lock-'));
  file = join(folder, 'lock');
});

afterEach(() => rmSync(folder, { recursive: true }));

describe('tryLock', () => {
  it('stores the process and the details in a private file', () => {
    const { release } = tryLock(file, { url: 'http://a' });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ ...ownIdentity(), url: 'http://a' });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    release();
    expect(existsSync(file)).toBe(false);
  });

  it('returns the holder of a lock that is held', () => {
    tryLock(file, { url: 'http://a' });
    expect(tryLock(file)).toEqual({ holder: { ...ownIdentity(), url: 'http://a' } });
  });

  it('returns the holder of a lock of release 0.2, which contains only the process id', () => {
    writeFileSync(file, String(process.pid));
    expect(tryLock(file)).toEqual({ holder: { pid: process.pid } });
  });

  it.each([
    ['an ended process of release 0.2', '4194305'],
    ['a later process with the same id', JSON.stringify({ ...ownIdentity(), started: 'another time' })],
    ['an empty file', ''],
    ['an invalid file', 'null'],
  ])('takes over the lock of %s', (_owner, content) => {
    writeFileSync(file, content);
    expect(tryLock(file).holder).toBeUndefined();
  });

  it('does not remove the lock of another process when it is released', () => {
    const { release } = tryLock(file);
    writeFileSync(file, 'other');
    release();
    expect(readFileSync(file, 'utf8')).toBe('other');
  });
});

describe('withFileLock', () => {
  it('ends its wait if the signal aborts', async () => {
    const { release } = tryLock(file);
    const abort = new AbortController();
    const waiting = withFileLock(file, () => 'done', { signal: abort.signal, onWait: () => abort.abort() });
    await expect(waiting).rejects.toThrow('aborted');
    release();
    expect(await withFileLock(file, () => 'done')).toBe('done');
  });

  it('fails after the wait time without running the work', async () => {
    tryLock(file);
    const work = () => {
      throw new Error('ran');
    };
    await expect(withFileLock(file, work, { pollMs: 1, waitMs: 5 })).rejects.toThrow(LockTimeout);
  });

  it('releases the lock after a failure', async () => {
    await expect(withFileLock(file, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(existsSync(file)).toBe(false);
  });
});
