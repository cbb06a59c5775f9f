import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

const REPOSITORY = join(import.meta.dirname, '..', '..');
const TASK = 'short-answer';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'uswarm-evals-'));
});
afterAll(() => rm(folder, { recursive: true }));

// The model is too small to do tasks. Its success is not asserted.
it('judges the answer of a model on this machine, and counts its tokens', async () => {
  const out = join(folder, 'result.json');
  const provider = ['--provider', 'llama', '--model', 'smollm2'];
  const args = [join(REPOSITORY, 'evals/dist/main.js'), ...provider, '--task', TASK, '--out', out];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(stdout).toMatch(/^category +tasks +runs +pass\^1/m);
  const result = JSON.parse(await readFile(out, 'utf8')) as { trials: object[]; rows: { tokens: number }[] };
  expect(result).toMatchObject({ provider: 'llama', model: 'smollm2', trials: [{ task: TASK }] });
  expect(result.rows.at(-1)).toMatchObject({ category: 'all', trials: 1, harnessErrors: 0 });
  expect(result.rows.at(-1)!.tokens).toBeGreaterThan(100);
});
