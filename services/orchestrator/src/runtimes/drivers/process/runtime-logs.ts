import { existsSync, globSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { Logger } from '@uswarm/service-kit';

/** A file for each workspace. A process from the pool writes to its own one, which gets the workspace's name. */
export interface RuntimeLogs {
  /** @returns a file descriptor; undefined without a log */
  open(name: string): number | undefined;
  /** The workspace's earlier file stays as `<workspace>.1.log`. */
  adopt(poolMember: string, workspaceId: string): void;
  discard(poolMember: string): void;
  /** Discards each pool log that no workspace got. */
  discardAll(): void;
}

/** Prefix for the name of a pool process. */
export const POOL_PREFIX = 'pool-';

/** @param directory undefined discards the logs */
export function createRuntimeLogs(directory: string | undefined, logger: Logger): RuntimeLogs {
  const fileOf = (name: string): string => path.join(directory ?? '', `${name}.log`);
  return {
    // A runtime starts without a log if the disk is full or the folder is not writable.
    open(name) {
      if (directory === undefined) return undefined;
      try {
        mkdirSync(directory, { recursive: true });
        return openSync(fileOf(name), 'a', 0o600);
      } catch (error) {
        logger.warn({ err: error, runtime: name }, 'the log of a runtime cannot be opened; it starts without one');
        return undefined;
      }
    },
    adopt(poolMember, workspaceId) {
      if (directory === undefined || !existsSync(fileOf(poolMember))) return;
      try {
        if (existsSync(fileOf(workspaceId))) renameSync(fileOf(workspaceId), fileOf(`${workspaceId}.1`));
        renameSync(fileOf(poolMember), fileOf(workspaceId));
      } catch (error) {
        logger.warn({ err: error, runtime: poolMember }, 'the log of a runtime keeps the name that it has in the pool');
      }
    },
    discard(poolMember) {
      if (directory !== undefined) rmSync(fileOf(poolMember), { force: true });
    },
    discardAll() {
      if (directory === undefined) return;
      for (const file of globSync(`${POOL_PREFIX}*.log`, { cwd: directory })) rmSync(path.join(directory, file));
    },
  };
}
