import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@uswarm/service-kit';
import { z } from 'zod';
import type { RuntimeDriver, RuntimeObservation, RuntimeSpec } from '../driver.js';
import type { RuntimeProcessStore } from './runtime-processes.store.js';

export interface ProcessDriverDeps {
  store: RuntimeProcessStore;
  /** The path of the entry point of the agent runtime. */
  program: string;
  /** Returns the complete environment of the runtime of a workspace. */
  environment: (spec: Pick<RuntimeSpec, 'workspaceId' | 'userId'>) => Record<string, string>;
  /** The folder for logs of runtimes; undefined discards them. */
  logDirectory?: string;
  logger: Logger;
}

export interface ProcessDriver extends RuntimeDriver {
  /** Stops all known runtimes. For local mode, which leaves no processes behind. */
  stopAll(): Promise<void>;
}

const SUSPENDED: RuntimeObservation = { phase: 'Suspended', reason: '', address: null, current: true };
const ready = (port: number): RuntimeObservation => ({
  phase: 'Ready',
  reason: '',
  address: `http://127.0.0.1:${port}`,
  current: true,
});

const START_MS = 15_000;
const STOP_MS = 6_000;
const Listening = z.object({ event: z.literal('listening'), port: z.int().positive() });

/**
 * Runs each runtime as a detached process on a free loopback port. The processes outlive the orchestrator that started
 * them; the next orchestrator adopts them.
 */
export function createProcessDriver(deps: ProcessDriverDeps): ProcessDriver {
  const { store, program, environment, logDirectory, logger } = deps;
  const listeners: ((workspaceId: string) => void)[] = [];

  async function start(spec: RuntimeSpec): Promise<number> {
    const child = spawnRuntime(program, environment(spec), logFile(logDirectory, spec.workspaceId));
    child.once('exit', (code, signal) => {
      logger.info({ workspace: spec.workspaceId, pid: child.pid, code, signal }, 'runtime process exited');
      for (const listener of listeners) listener(spec.workspaceId);
    });
    const port = await listeningPort(child).catch((error: unknown) => {
      child.kill('SIGKILL');
      throw error;
    });
    child.unref();
    const { pid } = child;
    if (pid === undefined) throw new Error('the runtime has no process id');
    logger.info({ workspace: spec.workspaceId, pid, port }, 'runtime process listening');
    await store.put(spec.workspaceId, { pid, port });
    return port;
  }

  async function stop(workspaceId: string, pid: number): Promise<void> {
    if (isRuntime(pid, workspaceId)) {
      signalProcess(pid, 'SIGTERM');
      const deadline = performance.now() + STOP_MS;
      while (isRuntime(pid, workspaceId) && performance.now() < deadline) await sleep(50);
      if (isRuntime(pid, workspaceId)) signalProcess(pid, 'SIGKILL');
    }
    await store.delete(workspaceId);
  }

  return {
    reportsLiveness: false,
    async ensure(spec, { unresponsive, signal }) {
      const known = await store.get(spec.workspaceId);
      if (spec.suspended) {
        if (known !== undefined) await stop(spec.workspaceId, known.pid);
        return SUSPENDED;
      }
      if (known !== undefined && unresponsive) await stop(spec.workspaceId, known.pid);
      const runs = known !== undefined && !unresponsive && isRuntime(known.pid, spec.workspaceId);
      if (!runs) signal?.throwIfAborted();
      const port = runs ? known.port : await start(spec);
      return ready(port);
    },
    async peek(specs) {
      const known = new Map((await store.all()).map((each) => [each.workspaceId, each]));
      const observations = new Map<string, RuntimeObservation>();
      for (const { workspaceId, suspended } of specs) {
        const { pid, port } = known.get(workspaceId) ?? {};
        const runs = pid !== undefined && isRuntime(pid, workspaceId);
        if (suspended && !runs) observations.set(workspaceId, SUSPENDED);
        if (!suspended && runs && port !== undefined) observations.set(workspaceId, ready(port));
      }
      return observations;
    },
    async remove(workspaceId) {
      const known = await store.get(workspaceId);
      if (known !== undefined) await stop(workspaceId, known.pid);
      return true;
    },
    onChange(listener) {
      listeners.push(listener);
    },
    async stopAll() {
      const known = await store.all();
      await Promise.all(known.map(({ workspaceId, pid }) => stop(workspaceId, pid)));
    },
  };
}

function spawnRuntime(program: string, env: Record<string, string>, log: string | undefined): ChildProcess {
  const stderr = log === undefined ? 'ignore' : openSync(log, 'a', 0o600);
  try {
    return spawn(process.execPath, ['--enable-source-maps', program], {
      detached: true,
      env,
      stdio: ['ignore', 'pipe', stderr],
    });
  } finally {
    if (typeof stderr === 'number') closeSync(stderr);
  }
}

function logFile(directory: string | undefined, workspaceId: string): string | undefined {
  if (directory === undefined) return undefined;
  mkdirSync(directory, { recursive: true });
  return path.join(directory, `${workspaceId}.log`);
}

/** Waits for the line with the port. @throws if the runtime exits or prints anything else first */
async function listeningPort(child: ChildProcess): Promise<number> {
  const { stdout } = child;
  if (stdout === null) throw new Error('the runtime has no standard output');
  const lines = createInterface({ input: stdout });
  const timer = setTimeout(() => child.kill('SIGKILL'), START_MS);
  try {
    const line = await new Promise<string>((resolve, reject) => {
      lines.once('line', resolve);
      child.once('error', reject);
      child.once('exit', (code, signal) =>
        reject(new Error(`the runtime exited during its start (${signal ?? code})`)),
      );
    });
    return Listening.parse(JSON.parse(line)).port;
  } finally {
    clearTimeout(timer);
    lines.close();
    stdout.destroy();
  }
}

/** Whether the process is alive and, on Linux, is the runtime of the workspace: process ids are reused. */
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
