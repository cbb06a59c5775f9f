import type { Clock, Logger } from '@uswarm/service-kit';
import { isId } from '../platform/database/id.js';
import { createPollLoop } from '../platform/jobs/poll-loop.js';
import type { JobQueue } from '../platform/jobs/job-queue.js';
import type { RuntimeClient } from './runtime-client.js';
import { PlatformUnreachable, type RuntimeDriver } from './drivers/driver.js';
import type { DifferenceFound, RuntimeMetrics } from './runtime-metrics.js';
import { needsReconcile, specOf } from '../records/runtime-state.js';
import { RUNTIME_JOB } from '../records/runtime-requests.js';
import type { ListedRuntime } from '../records/runtimes.store.js';
import type * as runtimeRecords from '../records/runtimes.store.js';
import type { Database } from '../platform/database/database.js';

export interface RuntimeWatchDeps {
  database: Database;
  store: Pick<typeof runtimeRecords, 'listRuntimes' | 'pageRuntimes'>;
  jobs: Pick<JobQueue, 'ensureDue'>;
  driver: Pick<RuntimeDriver, 'peek' | 'onChange' | 'reportsLiveness'>;
  client: Pick<RuntimeClient, 'identify'>;
  metrics: Pick<RuntimeMetrics, 'differed'>;
  resyncMs?: number;
  clock: Clock;
  logger: Logger;
}

export interface RuntimeWatch {
  /** Compares all runtimes' observed and stored state, and makes jobs due where they differ. */
  resync(): Promise<void>;
  close(): Promise<void>;
}

const RESYNC_MS = 60_000;
/** For platforms that do not report liveness. The calls also keep a runtime process from its idle exit. */
const PROBE_MS = 10_000;
const RETRY_MS = 1_000;
const PAGE = 500;
const PROBES = 16;
const FIRST = '00000000-0000-0000-0000-000000000000';
/** A job that is due sooner than this is in progress: the reconciler handles the runtime anyway. */
const IN_PROGRESS_MS = 60_000;

/**
 * Makes a runtime's job due if its observed state differs from the stored one: when the platform reports a change, and
 * on a periodic resync in case a report was missed. Every replica does this; a difference that one replica has fixed is
 * not visible to the others.
 */
export function createRuntimeWatch(deps: RuntimeWatchDeps): RuntimeWatch {
  const { database, store, jobs, driver, client, metrics, clock, logger } = deps;
  const changed = new Set<string>();

  async function differing(rows: readonly ListedRuntime[], found: DifferenceFound): Promise<Set<string>> {
    const seen = await driver.peek(rows.map(specOf));
    const now = clock.now();
    const differs = (row: ListedRuntime): boolean => {
      const observed = seen.get(row.workspace_id);
      // During a roll-out, replicas have different settings: they must not overwrite each other's changes in a loop.
      const relevant = found === 'event' && observed !== undefined ? { ...observed, outdated: false } : observed;
      return needsReconcile(row, relevant, now);
    };
    return new Set(rows.filter(differs).map((row) => row.workspace_id));
  }

  async function makeDue(workspaceIds: readonly string[], withinMs: number, found: DifferenceFound): Promise<void> {
    const changedJobs = await jobs.ensureDue(RUNTIME_JOB, workspaceIds, withinMs);
    if (changedJobs > 0) metrics.differed(found, changedJobs);
  }

  async function compareChanged(): Promise<boolean> {
    const ids = [...changed].slice(0, PAGE);
    if (ids.length === 0) return false;
    // Changes that arrive from now on are compared again.
    for (const id of ids) changed.delete(id);
    try {
      await makeDue([...(await differing(await store.listRuntimes(database, ids), 'event'))], 0, 'event');
    } catch (error) {
      for (const id of ids) changed.add(id);
      if (error instanceof PlatformUnreachable) return false;
      throw error;
    }
    return changed.size > 0;
  }

  /** @returns workspaces whose runtime does not respond, or responds as another instance than the stored one */
  async function findUnresponsive(rows: readonly ListedRuntime[]): Promise<string[]> {
    const found: string[] = [];
    const queue = [...rows];
    const probe = async (): Promise<void> => {
      for (let row = queue.pop(); row !== undefined; row = queue.pop()) {
        const { workspace_id: workspaceId, address, instance_id: known } = row;
        if (address === null) continue;
        const identity = await client.identify({ workspaceId, address }).catch(() => undefined);
        if (identity?.instanceId !== known) found.push(workspaceId);
      }
    };
    await Promise.all(Array.from({ length: PROBES }, probe));
    return found;
  }

  async function resync(): Promise<void> {
    for (let after = FIRST, full = true; full;) {
      const rows = await store.pageRuntimes(database, after, PAGE);
      const ids = await differing(rows, 'resync');
      const settled = rows.filter(({ workspace_id: id, phase }) => phase === 'Ready' && !ids.has(id));
      const unresponsive = driver.reportsLiveness ? [] : await findUnresponsive(settled);
      await makeDue([...ids, ...unresponsive], IN_PROGRESS_MS, 'resync');
      after = rows.at(-1)?.workspace_id ?? after;
      full = rows.length === PAGE;
    }
  }

  driver.onChange((workspaceId) => {
    // A UserSwarm's creator chooses its name, so the name can be anything.
    if (!isId(workspaceId)) return;
    changed.add(workspaceId);
    changes.runNow();
  });
  const changes = createPollLoop({
    round: compareChanged,
    pollMs: RETRY_MS,
    onError: (error) => logger.warn({ err: error }, 'comparing changed runtimes failed; will retry'),
  });
  const resyncs = createPollLoop({
    async round() {
      await resync().catch((error: unknown) => {
        if (!(error instanceof PlatformUnreachable)) throw error;
        logger.debug({ err: error }, 'runtime resync postponed');
      });
      return false;
    },
    pollMs: deps.resyncMs ?? (driver.reportsLiveness ? RESYNC_MS : PROBE_MS),
    onError: (error) => logger.warn({ err: error }, 'runtime resync failed; will retry'),
  });
  return {
    resync,
    async close() {
      await Promise.all([changes.close(), resyncs.close()]);
    },
  };
}
