import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTaskQueue, type Logger } from '@uswarm/service-kit';
import type { RuntimePool } from '../../runtime-pool.js';
import { QUEUED } from '../../../records/runtime-state.js';
import type { RuntimeDriver, RuntimeObservation, RuntimeSpec } from '../driver.js';
import { createRuntimeLogs } from './runtime-logs.js';
import type { RuntimeProcess } from './runtime-processes.store.js';
import { hasExited, isRuntime, kill, signalProcess, type SpawnedRuntime, spawnRuntime } from './spawn-runtime.js';
import { createSuspicions } from './suspicions.js';
import { createWarmProcesses, type WarmProcess } from './warm-processes.js';
import type * as runtimeProcessRecords from './runtime-processes.store.js';
import type { Database } from '../../../platform/database/database.js';

export interface ProcessDriverDeps {
  database: Database;
  store: Pick<
    typeof runtimeProcessRecords,
    'getRuntimeProcess' | 'listRuntimeProcesses' | 'putRuntimeProcess' | 'deleteRuntimeProcess'
  >;
  program: string;
  /** @param identity `USWARM_WORKSPACE_ID` and `USWARM_USER_ID`, or `USWARM_POOL_MEMBER` */
  environment: (identity: Record<string, string>) => Record<string, string>;
  /** Undefined discards the runtimes' logs. */
  logDirectory?: string;
  pool: Pick<RuntimePool, 'admit' | 'adopt' | 'release' | 'requeue' | 'isQueued' | 'isEvicted'>;
  /** A starting process is killed after this many ms without progress. */
  startPatienceMs: number;
  /** Maximum concurrent starts. Default: one per processor core. */
  maxStarts?: number | undefined;
  /** Processes that are started before a workspace needs one. Default: none. */
  warm?: { size: number; bind: (process: WarmProcess, workspaceId: string) => Promise<void> } | undefined;
  logger: Logger;
}

export interface ProcessDriver extends RuntimeDriver {
  /** Stops all known runtimes. For local mode, which leaves no processes behind. */
  stopAll(): Promise<void>;
  /** Starts the processes that wait for a workspace. */
  warmUp(): void;
  /** Ends the processes that wait for a workspace. */
  close(): Promise<void>;
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

  const logs = createRuntimeLogs(logDirectory, logger);
  const warm = createWarmProcesses({
    size: deps.warm?.size ?? 0,
    async start(member) {
      const options = { program, env: environment({ USWARM_POOL_MEMBER: member }), patienceMs: startPatienceMs };
      const spawned = await starts.run(() => spawnRuntime({ ...options, log: logs.open(member), inPool: true }));
      return { member, ...spawned };
    },
    bind: async (process, workspaceId) => deps.warm?.bind(process, workspaceId),
    discard: logs.discard,
    logger,
  });

  async function start(spec: RuntimeSpec): Promise<number> {
    const { workspaceId } = spec;
    const env = environment({ USWARM_WORKSPACE_ID: workspaceId, USWARM_USER_ID: spec.userId });
    const spawned = await spawnRuntime({ program, env, log: logs.open(workspaceId), patienceMs: startPatienceMs });
    return keep(workspaceId, spawned, null);
  }

  /** Stores the process, so that any orchestrator finds it. @returns its port */
  async function keep(
    workspaceId: string,
    { child, pid, port }: SpawnedRuntime,
    poolMember: string | null,
  ): Promise<number> {
    const onExit = (): void => {
      const { exitCode: code, signalCode: signal } = child;
      logger.info({ workspace: workspaceId, pid, code, signal }, 'runtime process exited');
      for (const listener of listeners) listener(workspaceId);
    };
    child.once('exit', onExit);
    if (hasExited(child)) onExit();
    logger.info({ workspace: workspaceId, poolMember, pid, port }, 'runtime process listening');
    try {
      await store.putRuntimeProcess(database, workspaceId, { pid, port, poolMember });
      return port;
    } catch (error) {
      // No orchestrator could adopt or stop it.
      await kill(child);
      throw error;
    }
  }

  async function claim({ workspaceId }: RuntimeSpec): Promise<number | undefined> {
    const claimed = await warm.claim(workspaceId);
    if (claimed === undefined) return undefined;
    logs.adopt(claimed.member, workspaceId);
    return keep(workspaceId, claimed, claimed.member);
  }

  /** @throws Error if the start failed */
  async function startInPlace(spec: RuntimeSpec, signal: AbortSignal | undefined): Promise<number> {
    const { workspaceId } = spec;
    const known = starting.get(workspaceId);
    if (known !== undefined) return known;
    const started = claim(spec).then((port) => port ?? starts.run(() => start(spec), { signal }));
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

  async function stop(workspaceId: string, known: RuntimeProcess): Promise<void> {
    const ends = async (withinMs: number): Promise<void> => {
      const deadline = performance.now() + withinMs;
      while (isRuntime(known, workspaceId) && performance.now() < deadline) await sleep(50);
    };
    if (isRuntime(known, workspaceId)) {
      signalProcess(known.pid, 'SIGTERM');
      await ends(STOP_MS);
      if (isRuntime(known, workspaceId)) signalProcess(known.pid, 'SIGKILL');
      await ends(KILL_MS);
    }
    await store.deleteRuntimeProcess(database, workspaceId);
  }

  async function end(workspaceId: string): Promise<void> {
    const known = await find(workspaceId);
    if (known !== undefined) await stop(workspaceId, known);
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
      if (isStuck) await stop(workspaceId, known);
      if (known !== undefined && !isStuck && isRuntime(known, workspaceId)) {
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
        const process = known.get(workspaceId);
        const runs = process !== undefined && isRuntime(process, workspaceId);
        if (suspended && !runs) observations.set(workspaceId, SUSPENDED);
        if (!suspended && pool.isQueued(workspaceId)) observations.set(workspaceId, WAITING);
        if (suspended || !runs) continue;
        const outdated = pool.isEvicted(workspaceId);
        observations.set(workspaceId, { ...ready(process.port), ...(outdated && { outdated }) });
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
    warmUp: warm.fill,
    close: warm.close,
    async stopAll() {
      const known = await store.listRuntimeProcesses(database);
      await Promise.all(known.map(({ workspaceId, ...each }) => stop(workspaceId, each)));
      logs.discardAll();
    },
  };
}
