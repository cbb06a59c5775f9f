import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { freePort } from '../free-port.js';
import { LocalError } from '../local-error.js';
import { s3Program } from './s3-program.js';

/** Maximum duration of `startS3`, whose first call builds the server. */
export const S3_START_MS = 25 * 60_000;

const START_DEADLINE_MS = 20_000;
const REGION = 'us-east-1';
const BUCKET = 'uswarm-test';

export interface RunningS3 {
  endpoint: string;
  region: string;
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** Kills the server; keeps its data. */
  kill(): Promise<void>;
  /** Starts the server again after `kill()`, on the same port. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a real S3 server on loopback, with an empty bucket. @throws LocalError */
export async function startS3(): Promise<RunningS3> {
  const program = await s3Program();
  const folder = await mkdtemp(join(tmpdir(), 'uswarm-s3-'));
  const launch = {
    program,
    folder,
    port: await freePort(),
    accessKeyId: randomBytes(10).toString('hex'),
    secretAccessKey: randomBytes(20).toString('hex'),
  };
  // The server treats each folder in its root as a bucket.
  for (const name of [`data/${BUCKET}`, 'meta']) await mkdir(join(folder, name), { recursive: true });
  let child = await start(launch);
  const lastResort = (): void => void child.kill('SIGKILL');
  process.once('exit', lastResort);
  return {
    endpoint: `http://127.0.0.1:${launch.port}`,
    region: REGION,
    bucket: BUCKET,
    accessKeyId: launch.accessKeyId,
    secretAccessKey: launch.secretAccessKey,
    kill: () => stop(child, 'SIGKILL'),
    async restart() {
      child = await start(launch);
    },
    async close() {
      process.off('exit', lastResort);
      await stop(child, 'SIGTERM');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface Launch {
  program: string;
  folder: string;
  port: number;
  accessKeyId: string;
  secretAccessKey: string;
}

async function start({ program, folder, port, accessKeyId, secretAccessKey }: Launch): Promise<ChildProcess> {
  const logFile = join(folder, 'server.log');
  const log = await open(logFile, 'a');
  const address = `127.0.0.1:${port}`;
  const args = ['--port', address, '--region', REGION, '--health', '/health', '--quiet'];
  // Attributes in separate files, because some file systems do not support them.
  const child = spawn(program, [...args, 'posix', '--sidecar', join(folder, 'meta'), join(folder, 'data')], {
    // Not as arguments, which all users on this machine can read.
    env: { PATH: process.env['PATH'] ?? '', ROOT_ACCESS_KEY: accessKeyId, ROOT_SECRET_KEY: secretAccessKey },
    cwd: folder,
    stdio: ['ignore', log.fd, log.fd],
  });
  let failure: Error | undefined;
  child.once('error', (error) => (failure = error));
  await log.close();
  const deadline = performance.now() + START_DEADLINE_MS;
  while (!(await answers(`http://${address}/health`))) {
    if (failure !== undefined || hasExited(child) || performance.now() > deadline) {
      child.kill('SIGKILL');
      const lastLines = (await readFile(logFile, 'utf8')).trim().split('\n').slice(-2).join(' ');
      throw new LocalError(`The S3 server could not start: ${failure?.message ?? lastLines}`);
    }
    await sleep(25);
  }
  return child;
}

const hasExited = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

async function answers(url: string): Promise<boolean> {
  try {
    const { statusCode, body } = await request(url, { signal: AbortSignal.timeout(2_000) });
    await body.dump();
    return statusCode === 200;
  } catch {
    return false;
  }
}

async function stop(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.pid === undefined || hasExited(child)) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}
