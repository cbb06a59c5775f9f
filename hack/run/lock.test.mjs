import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { withLock } from './lock.mjs';

let folder = '';
let file = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lock-'));
  file = join(folder, 'cache/run.lock');
});

afterEach(() => rmSync(folder, { recursive: true }));

it('two commands do not install at the same time, and the second reports why it waits', async () => {
  const events = [];
  const reported = [];
  let finishFirst;
  const first = withLock(
    () => {
      events.push('first started');
      return new Promise((resolve) => {
        finishFirst = resolve;
      }).then(() => events.push('first ended'));
    },
    { file },
  );
  let second;
  await new Promise((waits) => {
    const report = (line) => {
      reported.push(line);
      waits();
    };
    second = withLock(() => events.push('second started'), { file, pollMs: 1, report });
  });
  finishFirst();
  await Promise.all([first, second]);
  expect(events).toEqual(['first started', 'first ended', 'second started']);
  expect(reported).toEqual([`Waiting for another command (pid ${process.pid}) that installs or builds…`]);
});

it('releases the lock after a failure', async () => {
  const failing = withLock(() => Promise.reject(new Error('no')), { file });
  await expect(failing).rejects.toThrow('no');
  expect(existsSync(file)).toBe(false);
});

it.each([
  ['an exited command', '4194305'],
  ['an empty lock file', ''],
])('the lock is taken over from %s', async (_owner, content) => {
  await withLock(() => {}, { file });
  writeFileSync(file, content);
  expect(await withLock(() => 'done', { file })).toBe('done');
});
