/** Reads one file and exits. `createFileReader` starts it; it is bundled as a separate program. */
import { Console } from 'node:console';
import { isolateProcess, encodeFrame, readFrames } from '@uswarm/service-kit/limited-process';
import { type Answer, type Job, STARTED_BY_READER, type ToProcess } from './protocol.js';
import { detect } from './read/detect.js';
import { ProblemError, problemOf } from './read/problem.js';
import { describe, readText } from './read/read-text.js';

/** The reader sends smaller messages. */
const MAX_FRAME_BYTES = 4 * 1024 * 1024;

function send(answer: Answer, bodies: readonly Uint8Array[] = []): void {
  for (const chunk of encodeFrame(answer, bodies)) process.stdout.write(chunk);
}

async function receive(): Promise<{ job: Job; bytes: Uint8Array } | undefined> {
  let job: Job | undefined;
  let bytes = new Uint8Array(0);
  let size = 0;
  for await (const { header, bodies } of readFrames(process.stdin, MAX_FRAME_BYTES)) {
    const message = header as ToProcess;
    if (message.frame === 'job') {
      job = message.job;
      bytes = new Uint8Array(job.size);
    } else if (message.frame === 'bytes') {
      for (const body of bodies) {
        bytes.set(body, size);
        size += body.length;
      }
    } else break;
  }
  return job && { job, bytes: bytes.subarray(0, size) };
}

async function run(job: Job, bytes: Uint8Array): Promise<void> {
  if (job.task === 'text') {
    send({ frame: 'text', text: await readText(bytes, job, () => send({ frame: 'long' })) });
    return;
  }
  const detected = await detect(bytes, job);
  if (job.task === 'pages') {
    if (detected.format !== 'pdf')
      throw new ProblemError('unsupported', 'Only pages of a PDF can be shown as pictures.');
    const { renderPages } = await import('./read/pdf.js');
    const pages = await renderPages(bytes, job.numbers);
    send(
      { frame: 'pictures', pictures: pages.map(({ bytes: _, ...picture }) => picture) },
      pages.map((page) => page.bytes),
    );
    return;
  }
  if (detected.format !== 'picture')
    throw new ProblemError('unsupported', 'The file is not a picture that can be shown.');
  const { readPicture } = await import('./read/picture.js');
  const { bytes: body, ...picture } = await readPicture(bytes, detected.extension);
  send({ frame: 'pictures', pictures: [picture] }, [body]);
}

async function main(): Promise<void> {
  if (process.argv[2] !== STARTED_BY_READER) {
    console.error('This program is started by createFileReader and waits for a file.');
    process.exitCode = 2;
    return;
  }
  // The standard output belongs to frames; libraries print to it.
  globalThis.console = new Console(process.stderr, process.stderr);
  isolateProcess();
  const received = await receive();
  if (received === undefined) return;
  const { job, bytes } = received;
  try {
    await run(job, bytes);
  } catch (error) {
    console.error(error);
    const detected = await detect(bytes, job);
    send({ frame: 'problem', problem: problemOf(error, describe(detected)) });
  }
  process.stdin.destroy();
}

await main();
