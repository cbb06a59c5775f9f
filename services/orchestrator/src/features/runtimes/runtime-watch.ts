import type { Clock, Logger } from '@uswarm/service-kit';
import { createPollLoop } from '../../jobs/poll-loop.js';
import type { JobStore } from '../../jobs/job-store.js';
import type { RuntimeClient } from './runtime-client.js';
import { PlatformUnreachable, type RuntimeDriver } from './drivers/driver.js';
import type { DifferenceFound, RuntimeMetrics } from './runtime-metrics.js';
import { isSettled, specOf } from './runtime-state.js';
import { RUNTIME_JOB } from './runtime-requests.js';
import type { ListedRuntime, RuntimeStore } from './runtimes.store.js';

export interface RuntimeWatchDeps {
  store: Pick<RuntimeStore, 'list' | 'page'>;
  jobs: Pick<JobStore, 'rouse'>;
  driver: Pick<RuntimeDriver, 'peek' | 'onChange' | 'reportsLiveness'>;
  client: Pick<RuntimeClient, 'identify'>;
  metrics: Pick<RuntimeMetrics, 'differed'>;
  /** Milliseconds between two comparisons of everything. */
  resyncMs?: number;
  clock: Clock;
  logger: Logger;
}

export interface RuntimeWatch {
  /** Compares all runtimes with what is stored of them; writes only where they differ. */
  resync(): Promise<void>;
  close(): Promise<void>;
}

const RESYNC_MS = 60_000;
/** What no platform reports is found out by asking; the calls also keep a runtime process from exiting. */
const PROBE_MS = 10_000;
/** Until changes that could not be compared are compared again. */
const RETRY_MS = 1_000;
const PAGE = 500;
const PROBES = 16;
const FIRST = '00000000-0000-0000-0000-000000000000';
/** Work that is due sooner than this is in progress: the lifecycle looks at the runtime anyway. */
const IN_PROGRESS_MS = 60_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Makes the lifecycle look at a runtime that differs from what is stored of it: when the platform reports a change, and,
 * in case a report was missed, when a regular comparison finds it. Each replica does this; what one has put right does
 * not differ for the others.
 */
export function createRuntimeWatch(deps: RuntimeWatchDeps): RuntimeWatch {
  const { store, jobs, driver, client, metrics, clock, logger } = deps;
  const changed = new Set<string>();

  async function differing(rows: readonly ListedRuntime[], found: DifferenceFound): Promise<Set<string>> {
    const seen = await driver.peek(rows.map(specOf));
    const now = clock.now();
    const differs = (row: ListedRuntime): boolean => {
      const observed = seen.get(row.workspace_id);
      // Replicas with different settings, as during a roll-out, must not answer each other's writes with writes.
      const relevant = found === 'event' && observed !== undefined ? { ...observed, outdated: false } : observed;
      return row.turnWaits || !isSettled(row, relevant, now);
    };
    return new Set(rows.filter(differs).map((row) => row.workspace_id));
  }

  async function rouse(workspaceIds: readonly string[], withinMs: number, found: DifferenceFound): Promise<void> {
    const roused = await jobs.rouse(RUNTIME_JOB, workspaceIds, withinMs);
    if (roused === 0) return;
    metrics.differed(found, roused);
  }

  async function compareChanged(): Promise<boolean> {
    const ids = [...changed].slice(0, PAGE);
    if (ids.length === 0) return false;
    // A change that comes from here on is compared once more.
    for (const id of ids) changed.delete(id);
    try {
      await rouse([...(await differing(await store.list(ids), 'event'))], 0, 'event');
    } catch (error) {
      for (const id of ids) changed.add(id);
      if (error instanceof PlatformUnreachable) return false;
      throw error;
    }
    return changed.size > 0;
  }

  /** @returns those that do not answer, or are another instance than the one that is stored */
  async function silent(rows: readonly ListedRuntime[]): Promise<string[]> {
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
      const rows = await store.page(after, PAGE);
      const ids = await differing(rows, 'resync');
      const settled = rows.filter(({ workspace_id: id, phase }) => phase === 'Ready' && !ids.has(id));
      const unwell = driver.reportsLiveness ? [] : await silent(settled);
      await rouse([...ids, ...unwell], IN_PROGRESS_MS, 'resync');
      after = rows.at(-1)?.workspace_id ?? after;
      full = rows.length === PAGE;
    }
  }

  driver.onChange((workspaceId) => {
    // Anyone who may make UserSwarms chooses their names.
    if (!UUID.test(workspaceId)) return;
    changed.add(workspaceId);
    changes.wake();
  });
  const changes = createPollLoop({
    round: compareChanged,
    pollMs: RETRY_MS,
    onError: (error) => logger.warn({ err: error }, 'changed runtimes could not be compared'),
  });
  const resyncs = createPollLoop({
    async round() {
      await resync().catch((error: unknown) => {
        if (!(error instanceof PlatformUnreachable)) throw error;
        logger.debug({ err: error }, 'runtimes are compared later');
      });
      return false;
    },
    pollMs: deps.resyncMs ?? (driver.reportsLiveness ? RESYNC_MS : PROBE_MS),
    onError: (error) => logger.warn({ err: error }, 'runtimes could not be compared with what is stored'),
  });
  return {
    resync,
    async close() {
      await Promise.all([changes.close(), resyncs.close()]);
    },
  };
}
