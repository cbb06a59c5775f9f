import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTaskQueue, type Logger } from '@uswarm/service-kit';
import { z } from 'zod';
import type { RuntimePool } from '../../runtime-pool.js';
import { QUEUED } from '../../../records/runtime-state.js';
import type { RuntimeDriver, RuntimeObservation, RuntimeSpec } from '../driver.js';
import type { RuntimeProcess } from './runtime-processes.store.js';
import { watchStart } from './start-watch.js';
import { createSuspicions } from './suspicions.js';
import type * as runtimeProcessRecords from './runtime-processes.store.js';
import type { Database } from '../../../platform/database/database.js';

export interface ProcessDriverDeps {
  database: Database;
  store: Pick<
    typeof runtimeProcessRecords,
    'getRuntimeProcess' | 'listRuntimeProcesses' | 'putRuntimeProcess' | 'deleteRuntimeProcess'
  >;
  program: string;
  environment: (spec: Pick<RuntimeSpec, 'workspaceId' | 'userId'>) => Record<string, string>;
  /** Undefined discards the runtimes' logs. */
  logDirectory?: string;
  pool: Pick<RuntimePool, 'admit' | 'adopt' | 'release' | 'requeue' | 'isQueued' | 'isEvicted'>;
  /** A starting process is killed after this many ms without progress. */
  startPatienceMs: number;
  /** Maximum concurrent starts. Default: one per processor core. */
  maxStarts?: number | undefined;
  logger: Logger;
}

export interface ProcessDriver extends RuntimeDriver {
  /** Stops all known runtimes. For local mode, which leaves no processes behind. */
  stopAll(): Promise<void>;
}

const SUSPENDED: RuntimeObservation = { phase: 'Suspended', reason: '', address: null, current: true };
const WAITING: RuntimeObservation = { phase: 'Progressing', reason: QUEUED, address: null, current: true };
const ready = (port: number): RuntimeObservation => ({
  phase: 'Ready',
  reason: '',
  address: `http://127.0.0.1:${port}`,
  current: true,
});

/** Processor time after which a runtime counts as looping, in multiples of `startPatienceMs`. */
const LOOP_TIMES = 2;
const STOP_MS = 6_000;
/** A killed process ends within this time. */
const KILL_MS = 5_000;
const Listening = z.object({ event: z.literal('listening'), port: z.int().positive() });

/**
 * Runs each runtime as a detached process on a free loopback port. The processes outlive the orchestrator that started
 * them; the next orchestrator adopts them.
 */
export function createProcessDriver(deps: ProcessDriverDeps): ProcessDriver {
  const { database, store, program, environment, logDirectory, pool, startPatienceMs, logger } = deps;
  // A start is CPU-bound.
  const starts = createTaskQueue({ concurrent: deps.maxStarts ?? availableParallelism() });
  const suspicions = createSuspicions({ processorMs: LOOP_TIMES * startPatienceMs });
  const listeners: ((workspaceId: string) => void)[] = [];
  /** A lost lease does not end a start: the next call waits for it. */
  const starting = new Map<string, Promise<number>>();

  async function start(spec: RuntimeSpec): Promise<number> {
    const child = spawnRuntime(program, environment(spec), openLog(spec.workspaceId));
    child.once('exit', (code, signal) => {
      logger.info({ workspace: spec.workspaceId, pid: child.pid, code, signal }, 'runtime process exited');
      for (const listener of listeners) listener(spec.workspaceId);
    });
    try {
      const port = await listeningPort(child, startPatienceMs);
      child.unref();
      const { pid } = child;
      if (pid === undefined) throw new Error('the runtime has no process id');
      logger.info({ workspace: spec.workspaceId, pid, port }, 'runtime process listening');
      await store.putRuntimeProcess(database, spec.workspaceId, { pid, port });
      return port;
    } catch (error) {
      // Kills it also if storing it failed: no orchestrator could adopt or stop it.
      await kill(child);
      throw error;
    }
  }

  /** A runtime starts without a log if the disk is full or the folder is not writable. */
  function openLog(workspaceId: string): number | undefined {
    if (logDirectory === undefined) return undefined;
    try {
      mkdirSync(logDirectory, { recursive: true });
      return openSync(path.join(logDirectory, `${workspaceId}.log`), 'a', 0o600);
    } catch (error) {
      logger.warn(
        { err: error, workspace: workspaceId },
        'the log of a runtime cannot be opened; it starts without one',
      );
      return undefined;
    }
  }

  /** @throws Error if the start failed */
  async function startInPlace(spec: RuntimeSpec, signal: AbortSignal | undefined): Promise<number> {
    const { workspaceId } = spec;
    const known = starting.get(workspaceId);
    if (known !== undefined) return known;
    const started = starts.run(() => start(spec), { signal });
    starting.set(workspaceId, started);
    try {
      return await started;
    } catch (error) {
      pool.requeue(workspaceId);
      throw error;
    } finally {
      starting.delete(workspaceId);
    }
  }

  /** Waits for a start in progress. */
  async function find(workspaceId: string): Promise<RuntimeProcess | undefined> {
    await starting.get(workspaceId)?.catch(() => undefined);
    return store.getRuntimeProcess(database, workspaceId);
  }

  async function stop(workspaceId: string, pid: number): Promise<void> {
    const ends = async (withinMs: number): Promise<void> => {
      const deadline = performance.now() + withinMs;
      while (isRuntime(pid, workspaceId) && performance.now() < deadline) await sleep(50);
    };
    if (isRuntime(pid, workspaceId)) {
      signalProcess(pid, 'SIGTERM');
      await ends(STOP_MS);
      if (isRuntime(pid, workspaceId)) signalProcess(pid, 'SIGKILL');
      await ends(KILL_MS);
    }
    await store.deleteRuntimeProcess(database, workspaceId);
  }

  async function end(workspaceId: string): Promise<void> {
    const known = await find(workspaceId);
    if (known !== undefined) await stop(workspaceId, known.pid);
    pool.release(workspaceId);
  }

  return {
    reportsLiveness: false,
    async ensure(spec, { unresponsive, signal }) {
      const { workspaceId } = spec;
      if (spec.suspended) {
        await end(workspaceId);
        return SUSPENDED;
      }
      const known = await find(workspaceId);
      const isStuck = known !== undefined && unresponsive && suspicions.isStuck(workspaceId, known.pid);
      if (isStuck || !unresponsive) suspicions.forget(workspaceId);
      if (isStuck) await stop(workspaceId, known.pid);
      if (known !== undefined && !isStuck && isRuntime(known.pid, workspaceId)) {
        pool.adopt(workspaceId);
        return ready(known.port);
      }
      signal?.throwIfAborted();
      return pool.admit(workspaceId) ? ready(await startInPlace(spec, signal)) : WAITING;
    },
    async peek(specs) {
      const known = new Map((await store.listRuntimeProcesses(database)).map((each) => [each.workspaceId, each]));
      const observations = new Map<string, RuntimeObservation>();
      for (const { workspaceId, suspended } of specs) {
        const { pid, port } = known.get(workspaceId) ?? {};
        const runs = pid !== undefined && isRuntime(pid, workspaceId);
        if (suspended && !runs) observations.set(workspaceId, SUSPENDED);
        if (!suspended && pool.isQueued(workspaceId)) observations.set(workspaceId, WAITING);
        if (suspended || !runs || port === undefined) continue;
        const outdated = pool.isEvicted(workspaceId);
        observations.set(workspaceId, { ...ready(port), ...(outdated && { outdated }) });
      }
      return observations;
    },
    async remove(workspaceId) {
      await end(workspaceId);
      return true;
    },
    onChange(listener) {
      listeners.push(listener);
    },
    async stopAll() {
      const known = await store.listRuntimeProcesses(database);
      await Promise.all(known.map(({ workspaceId, pid }) => stop(workspaceId, pid)));
    },
  };
}

/** `log` is a file descriptor, which is closed here. */
function spawnRuntime(program: string, env: Record<string, string>, log: number | undefined): ChildProcess {
  const stderr = log ?? 'ignore';
  try {
    return spawn(process.execPath, ['--enable-source-maps', program], {
      detached: true,
      env,
      stdio: ['ignore', 'pipe', stderr],
    });
  } finally {
    if (log !== undefined) closeSync(log);
  }
}

/** Kills a process that did not start, and waits for its end. */
async function kill(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

/** Waits for the line with the port. @throws if the runtime exits, makes no progress, or prints anything else first */
async function listeningPort(child: ChildProcess, patienceMs: number): Promise<number> {
  const { stdout } = child;
  if (stdout === null) throw new Error('the runtime has no standard output');
  const lines = createInterface({ input: stdout });
  let problem = 'exited during its start';
  const onStuck = (reason: string): void => {
    problem = `${reason} during its start and was killed`;
    child.kill('SIGKILL');
  };
  const endWatch = child.pid === undefined ? undefined : watchStart(child.pid, { patienceMs, onStuck });
  try {
    const line = await new Promise<string>((resolve, reject) => {
      lines.once('line', resolve);
      child.once('error', reject);
      child.once('exit', (code, signal) => reject(new Error(`the runtime ${problem} (${signal ?? code})`)));
    });
    return Listening.parse(JSON.parse(line)).port;
  } finally {
    endWatch?.();
    lines.close();
    stdout.destroy();
  }
}

/** Process ids are reused: on Linux, this also checks that the process is the workspace's runtime. */
function isRuntime(pid: number, workspaceId: string): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  if (process.platform !== 'linux') return true;
  try {
    const state = /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1];
    return (
      state !== 'Z' && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`USWARM_WORKSPACE_ID=${workspaceId}\0`)
    );
  } catch {
    return false;
  }
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has already exited.
  }
}
