import type { Clock, Logger } from '@uswarm/service-kit';
import type { JobQueue } from '../platform/jobs/job-queue.js';
import { TURN_JOB } from '../records/turn-job.js';
import {
  PlatformUnreachable,
  type RuntimeDriver,
  type RuntimeObservation,
  type RuntimeSpec,
} from './drivers/driver.js';
import type { RuntimeClient } from './runtime-client.js';
import type { RuntimeMetrics } from './runtime-metrics.js';
import { createReportLimit } from './report-limit.js';
import { assumeObservation, isLongSilent, NOT_RESPONDING, respondingAt, specOf } from '../records/runtime-state.js';
import type { RuntimeRow } from '../records/runtimes.store.js';

/** About 20 s of failed checks make a runtime unresponsive. */
const UNRESPONSIVE_AFTER = 8;

export interface ObservedRuntime {
  /** Undefined if the platform is unreachable and nothing can be assumed. */
  observed: RuntimeObservation | undefined;
  /** Null unless the runtime is Ready and answers `Identify`. */
  instanceId: string | null;
}

export interface RuntimeObserver {
  /**
   * Applies the desired state on the platform, and identifies a runtime that is Ready, or that starts and has a turn.
   */
  observe(row: RuntimeRow, signal: AbortSignal): Promise<ObservedRuntime>;
  /** @returns undefined if nothing is known about the runtime */
  ensure(
    row: RuntimeRow,
    signal: AbortSignal,
    change?: Pick<RuntimeSpec, 'rollout' | 'unreachableSince'>,
  ): Promise<RuntimeObservation | undefined>;
}

export interface RuntimeObserverDeps {
  driver: Pick<RuntimeDriver, 'ensure' | 'reportsLiveness'>;
  client: Pick<RuntimeClient, 'identify'>;
  jobs: Pick<JobQueue, 'waits'>;
  metrics: Pick<RuntimeMetrics, 'ensureFailed'>;
  clock: Clock;
  logger: Logger;
}

/** Runtimes that a process newly reports as unreachable per minute. */
const REPORTS_PER_MINUTE = 10;

export function createRuntimeObserver(deps: RuntimeObserverDeps): RuntimeObserver {
  const { driver, client, jobs, metrics, clock, logger } = deps;
  const reports = createReportLimit(REPORTS_PER_MINUTE, clock);

  const ensure: RuntimeObserver['ensure'] = async (row, signal, change) => {
    try {
      const unresponsive = row.reason === NOT_RESPONDING && row.failures >= UNRESPONSIVE_AFTER;
      return await driver.ensure({ ...specOf(row), ...change }, { unresponsive, signal });
    } catch (error) {
      if (signal.aborted && error === signal.reason) throw error;
      logger.warn({ err: error, workspace: row.workspace_id }, 'runtime reconcile failed; will retry');
      const isUnreachable = error instanceof PlatformUnreachable;
      metrics.ensureFailed(isUnreachable ? 'unreachable' : 'refused');
      if (isUnreachable) return assumeObservation(row);
      return { phase: 'Progressing', reason: 'StartFailed', address: null, current: true };
    }
  };

  /** @returns null if the runtime does not respond */
  function identify(row: RuntimeRow, address: string, signal: AbortSignal): Promise<string | null> {
    const becameReady = row.phase !== 'Ready' || row.address !== address;
    const target = { workspaceId: row.workspace_id, address };
    return client.identify(target, signal, { becameReady }).then(
      ({ instanceId }) => instanceId,
      () => null,
    );
  }

  /** Writes once per change. */
  async function report(
    row: RuntimeRow,
    { observed, instanceId }: ObservedRuntime,
    signal: AbortSignal,
  ): Promise<void> {
    if (!driver.reportsLiveness || observed?.phase !== 'Ready' || observed.assumed === true) return;
    const { silent_since: since } = row;
    if (instanceId !== null) {
      if (observed.unreachable === true) await ensure(row, signal, { unreachableSince: null });
    } else if (observed.unreachable !== true && isLongSilent(row, clock.now()) && reports.admits()) {
      await ensure(row, signal, { unreachableSince: since });
    }
  }

  /** A starting runtime is called before the platform finds it ready only if a turn waits for it. */
  const isCalledEarly = async (row: RuntimeRow, startingAddress: string): Promise<boolean> =>
    row.address === startingAddress || jobs.waits(TURN_JOB, row.workspace_id);

  async function identifyObserved(
    row: RuntimeRow,
    observed: RuntimeObservation,
    signal: AbortSignal,
  ): Promise<ObservedRuntime> {
    const { startingAddress } = observed;
    if (startingAddress !== undefined && (await isCalledEarly(row, startingAddress))) {
      const instanceId = await identify(row, startingAddress, signal);
      return { observed: instanceId === null ? observed : respondingAt(observed, startingAddress), instanceId };
    }
    if (observed.phase !== 'Ready' || observed.address === null) return { observed, instanceId: null };
    const instanceId = await identify(row, observed.address, signal);
    if (instanceId !== null || row.phase !== 'Ready' || row.address === null) return { observed, instanceId };
    // A runtime that was called while it started keeps that address until its Service forwards to it.
    const known = row.address === observed.address ? null : await identify(row, row.address, signal);
    return { observed: known === null ? observed : { ...observed, address: row.address }, instanceId: known };
  }

  return {
    ensure,
    async observe(row, signal) {
      const observed = await ensure(row, signal);
      if (observed === undefined) return { observed, instanceId: null };
      const found = await identifyObserved(row, observed, signal);
      await report(row, found, signal);
      return found;
    },
  };
}
