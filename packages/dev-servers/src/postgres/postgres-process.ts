import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LocalError } from '../local-error.js';
import {
  commandLine,
  identifyProcess,
  type ProcessIdentity,
  programOf,
  signalProcess,
  waitForExit,
} from '../processes.js';
import { postgresEnvironment } from './postgres-cluster.js';
import type { PostgresPrograms, SystemUser } from './postgres-home.js';

/** Includes recovery after a crash, which usually takes seconds. */
const START_DEADLINE_MS = 120_000;
const STOP_DEADLINE_MS = 30_000;
const LOG_LIMIT_BYTES = 10 * 1024 * 1024;
/** For tests. Their databases are small: starting workers for a query takes longer than the query. */
const FOR_TESTS = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_parallel_workers_per_gather=0'];

export interface LaunchOptions {
  dataDirectory: string;
  durable: boolean;
  logFile: string;
  port: number;
  programs: PostgresPrograms;
  user: SystemUser | undefined;
}

/** The server ended before it was ready; `output` is its log. */
export class PostgresExit extends Error {
  override name = 'PostgresExit';
  readonly output: string;

  constructor(output: string) {
    super('Postgres ended before it was ready');
    this.output = output;
  }
}

/** Starts the server and waits until it accepts connections. @throws PostgresExit, LocalError */
export async function launchPostgres(options: LaunchOptions): Promise<ProcessIdentity> {
  const { child, logStart } = spawnPostgres(options);
  const spawned = new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (error) => reject(new PostgresExit(`error: ${error.message}`)));
  });
  await spawned;
  const deadline = performance.now() + START_DEADLINE_MS;
  while (!(await isReady(options.dataDirectory, child.pid))) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new PostgresExit(readFileSync(options.logFile).subarray(logStart).toString());
    }
    if (performance.now() > deadline) {
      child.kill('SIGQUIT');
      throw new LocalError(`Postgres was not ready after two minutes; its log is in ${options.logFile}.`);
    }
    await sleep(25);
  }
  return identifyProcess(child.pid ?? 0) ?? { pid: child.pid ?? 0, started: '' };
}

function spawnPostgres(options: LaunchOptions): { child: ChildProcess; logStart: number } {
  const { dataDirectory, durable, logFile, port, programs, user } = options;
  const settings = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'timezone=UTC',
    'log_timezone=UTC',
    'max_connections=200',
    ...(durable ? [] : FOR_TESTS),
  ];
  if (existsSync(logFile) && statSync(logFile).size > LOG_LIMIT_BYTES) renameSync(logFile, `${logFile}.1`);
  // A file instead of a pipe: if this process is killed, the server would fail on the closed pipe.
  const log = openSync(logFile, 'a', 0o600);
  try {
    const logStart = statSync(logFile).size;
    const args = ['-D', dataDirectory, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])];
    const child = spawn(programs.postgres, args, {
      cwd: '/',
      // A separate session: Ctrl-C reaches only this process, so that services end before the server.
      detached: true,
      env: postgresEnvironment(),
      stdio: ['ignore', log, log],
      ...(user === undefined ? {} : { uid: user.uid, gid: user.gid }),
    });
    return { child, logStart };
  } finally {
    closeSync(log);
  }
}

/** The eighth line of `postmaster.pid` is the state, which pg_ctl reads too. */
async function isReady(dataDirectory: string, pid: number | undefined): Promise<boolean> {
  const lines = await pidFileLines(dataDirectory);
  return Number(lines[0]) === pid && lines[7]?.trim() === 'ready';
}

async function pidFileLines(dataDirectory: string): Promise<string[]> {
  const text = await readFile(join(dataDirectory, 'postmaster.pid'), 'utf8').catch(() => '');
  return text.split('\n');
}

/**
 * The running server in a data folder, if any. The process id in `postmaster.pid` is verified, because after a crash or
 * a reboot it can belong to another program. A stale file is deleted, which Postgres does not do.
 */
export async function runningPostgres(dataDirectory: string): Promise<ProcessIdentity | undefined> {
  const pid = Number((await pidFileLines(dataDirectory))[0]);
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  const identity = identifyProcess(pid);
  if (identity !== undefined && isPostgresOn(pid, dataDirectory)) return identity;
  await rm(join(dataDirectory, 'postmaster.pid'), { force: true });
  return undefined;
}

function isPostgresOn(pid: number, dataDirectory: string): boolean {
  const { name, cwd } = programOf(pid);
  if (name !== 'postgres') return false;
  return cwd === undefined ? commandLine(pid).includes(`-D ${dataDirectory} `) : cwd === dataDirectory;
}

/**
 * Fast shutdown: rolls back open transactions. A server that does not exit in time is killed and recovers at the next
 * start.
 */
export async function stopPostgres(identity: ProcessIdentity): Promise<void> {
  signalProcess(identity.pid, 'SIGINT');
  if (await waitForExit(identity, STOP_DEADLINE_MS)) return;
  signalProcess(identity.pid, 'SIGQUIT');
  if (await waitForExit(identity, STOP_DEADLINE_MS)) return;
  throw new LocalError(`Postgres (process ${identity.pid}) does not stop; kill it manually.`);
}
