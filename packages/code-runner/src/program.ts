/** Runs one program of an agent and exits. `createCodeRunner` starts it; it is bundled as a separate program. */
import { readSync, writeSync } from 'node:fs';
import { encodeFrame, readFrames } from '@uswarm/service-kit/limited-process';
import { createOutput } from './output.js';
import { preparePictures } from './pictures.js';
import { type Answer, type Job, STARTED_BY_RUNNER } from './protocol.js';
import { filesToReturn } from './returned-files.js';
import type { Run } from './run.js';

const MAX_JOB_BYTES = 64 * 1024 * 1024;
const CHUNK_BYTES = 1024 * 1024;

const STDIN = 0;
const STDOUT = 1;

/** Not `process.stdin`: hostile code must find no stream in this process. */
async function* input(): AsyncGenerator<Uint8Array> {
  for (;;) {
    const chunk = new Uint8Array(CHUNK_BYTES);
    const length = readSync(STDIN, chunk);
    if (length === 0) return;
    yield chunk.subarray(0, length);
  }
}

function send(answer: Answer, bodies: readonly Uint8Array[] = []): void {
  for (const chunk of encodeFrame(answer, bodies))
    for (let start = 0; start < chunk.length;) start += writeSync(STDOUT, chunk, start);
}

const load = async (language: Job['language']): Promise<Run> =>
  language === 'python'
    ? (await import('./python.js')).preparePython()
    : (await import('./javascript.js')).prepareJavascript();

async function main(): Promise<void> {
  // Kept, because the realm loses `process`.
  const exit = process.exit.bind(process);
  if (process.argv[2] !== STARTED_BY_RUNNER) {
    console.error('This program is started by createCodeRunner and waits for code.');
    process.exitCode = 2;
    return;
  }
  const { value: frame } = await readFrames(input(), MAX_JOB_BYTES).next();
  if (frame === undefined) return;
  const job = frame.header as Job;
  const files = new Map(job.files.map((name, index) => [name, frame.bodies[index] ?? new Uint8Array(0)]));
  const output = createOutput(job.outputBytes, (text) => send({ frame: 'output', text }));
  const draw = preparePictures();
  const run = await load(job.language);
  const { error, files: written } = await run({ ...job, files, write: output.write });
  output.end();
  const after = written.size > files.size + job.maxFiles ? written : await draw(written);
  const result = filesToReturn(files, after, job);
  const problem = error ?? result.error;
  send(
    {
      frame: 'result',
      files: result.files.map(({ name }) => name),
      ...(problem === undefined ? {} : { error: problem }),
    },
    result.files.map(({ bytes }) => bytes),
  );
  exit(0);
}

await main();
