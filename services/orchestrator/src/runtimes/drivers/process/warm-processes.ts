import { randomUUID } from 'node:crypto';
import type { Logger } from '@uswarm/service-kit';
import { POOL_PREFIX } from './runtime-logs.js';
import { hasExited, kill, type SpawnedRuntime } from './spawn-runtime.js';

/** A runtime process without a workspace. */
export interface WarmProcess extends SpawnedRuntime {
  /** Its name in the pool. */
  member: string;
}

export interface WarmProcessesDeps {
  /** Processes that wait. */
  size: number;
  /** @throws Error if the start failed */
  start: (member: string) => Promise<WarmProcess>;
  /** @throws Error if the process does not accept the workspace */
  bind: (process: WarmProcess, workspaceId: string) => Promise<void>;
  /** Called when a process has ended that no workspace got. */
  discard: (member: string) => void;
  logger: Logger;
}

/** Started runtime processes that wait for a workspace. Each serves one workspace and is never used again. */
export interface WarmProcesses {
  /** Starts the missing processes, now, and soon after one was claimed or has ended. */
  fill(): void;
  /** @returns the process that now serves the workspace; undefined if it must be started */
  claim(workspaceId: string): Promise<WarmProcess | undefined>;
  /** Ends the waiting processes. */
  close(): Promise<void>;
}

/** Milliseconds after a claim: the start of the next process does not slow down the first answer of this one. */
const REFILL_MS = 2_000;
/** Milliseconds after a failed start, or an unexpected end. */
const RETRY_MS = 10_000;

export function createWarmProcesses(deps: WarmProcessesDeps): WarmProcesses {
  const { size, logger } = deps;
  const waiting: WarmProcess[] = [];
  const starting = new Set<Promise<void>>();
  let later: NodeJS.Timeout | undefined;
  let isClosed = false;

  function fillIn(ms: number): void {
    if (isClosed) return;
    later ??= setTimeout(() => {
      later = undefined;
      fill();
    }, ms).unref();
  }

  function fill(): void {
    while (!isClosed && later === undefined && waiting.length + starting.size < size) {
      const started = startOne();
      starting.add(started);
      void started.finally(() => starting.delete(started));
    }
  }

  /** For a process that ended while it waited. */
  function leave(process: WarmProcess): void {
    const index = waiting.indexOf(process);
    if (index === -1) return;
    waiting.splice(index, 1);
    deps.discard(process.member);
    fillIn(RETRY_MS);
  }

  async function startOne(): Promise<void> {
    const member = `${POOL_PREFIX}${randomUUID()}`;
    try {
      const process = await deps.start(member);
      waiting.push(process);
      logger.info({ member, pid: process.pid }, 'a runtime process waits for a workspace');
      const onExit = (): void => leave(process);
      process.child.once('exit', onExit);
      if (hasExited(process.child)) onExit();
    } catch (error) {
      deps.discard(member);
      logger.warn({ err: error, member }, 'a runtime process for the pool did not start');
      fillIn(RETRY_MS);
    }
  }

  return {
    fill,
    async claim(workspaceId) {
      try {
        for (let process = waiting.shift(); process !== undefined; process = waiting.shift()) {
          try {
            await deps.bind(process, workspaceId);
            return process;
          } catch (error) {
            logger.warn({ err: error, member: process.member, workspace: workspaceId }, 'a pool process was not bound');
            await kill(process.child);
            deps.discard(process.member);
          }
        }
        return undefined;
      } finally {
        fillIn(REFILL_MS);
      }
    },
    async close() {
      isClosed = true;
      clearTimeout(later);
      await Promise.all(starting);
      await Promise.all(waiting.splice(0).map(({ child, member }) => kill(child).then(() => deps.discard(member))));
    },
  };
}
