import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { cacheFolder, type RunningLlama, startLlama } from '@uswarm/dev-servers';

const REPOSITORY = join(import.meta.dirname, '..', '..');
const WINDOW = 8_192;
const TASK = 'short-answer';

let folder: string;
let server: RunningLlama;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'uswarm-evals-llama-'));
  const logFile = join(folder, 'llama.log');
  server = await startLlama({ directory: join(cacheFolder(), 'llama'), contextWindow: WINDOW, logFile });
});
afterAll(async () => {
  await server?.close();
  await rm(folder, { recursive: true });
});

// The model is too small to do tasks. Its success is not asserted.
it('judges the answer of a llama.cpp server, and counts its tokens', async () => {
  const out = join(folder, 'result.json');
  const provider = ['--provider', 'openai', '--base-url', `${server.endpoint}/v1`, '--model', 'smollm2'];
  const args = [join(REPOSITORY, 'evals/dist/main.js'), ...provider, '--task', TASK, '--out', out];
  const env = { ...process.env, USWARM_MODEL_CONTEXT_WINDOW: String(WINDOW), USWARM_MODEL_OUTPUT_LIMIT: '128' };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  expect(stdout).toMatch(/^category +tasks +runs +pass\^1/m);
  const result = JSON.parse(await readFile(out, 'utf8')) as { trials: object[]; rows: { tokens: number }[] };
  expect(result).toMatchObject({ provider: 'openai', model: 'smollm2', trials: [{ task: TASK }] });
  expect(result.rows.at(-1)).toMatchObject({ category: 'all', trials: 1, harnessErrors: 0 });
  expect(result.rows.at(-1)!.tokens).toBeGreaterThan(100);
});
