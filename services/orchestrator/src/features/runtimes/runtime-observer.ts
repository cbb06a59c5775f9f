import type { Logger } from '@uswarm/service-kit';
import {
  PlatformUnreachable,
  type RuntimeDriver,
  type RuntimeObservation,
  type RuntimeSpec,
} from './drivers/driver.js';
import type { RuntimeClient } from './runtime-client.js';
import type { RuntimeMetrics } from './runtime-metrics.js';
import { assumeObservation, NOT_RESPONDING, specOf } from './runtime-state.js';
import type { RuntimeRow } from './runtimes.store.js';

/** About 20 s of failed checks make a runtime unresponsive. */
const UNRESPONSIVE_AFTER = 8;

export interface ObservedRuntime {
  /** Undefined if the platform is unreachable and nothing can be assumed. */
  observed: RuntimeObservation | undefined;
  /** Null unless the runtime is Ready and answers `Identify`. */
  instanceId: string | null;
}

export interface RuntimeObserver {
  /** Applies the desired state on the platform, and identifies a runtime that is Ready. */
  observe(row: RuntimeRow, signal: AbortSignal): Promise<ObservedRuntime>;
  /** Applies the desired state on the platform. @returns undefined if nothing is known about the runtime */
  ensure(
    row: RuntimeRow,
    signal: AbortSignal,
    rollout?: RuntimeSpec['rollout'],
  ): Promise<RuntimeObservation | undefined>;
}

export interface RuntimeObserverDeps {
  driver: Pick<RuntimeDriver, 'ensure'>;
  client: Pick<RuntimeClient, 'identify'>;
  metrics: Pick<RuntimeMetrics, 'ensureFailed'>;
  logger: Logger;
}

export function createRuntimeObserver({ driver, client, metrics, logger }: RuntimeObserverDeps): RuntimeObserver {
  const ensure: RuntimeObserver['ensure'] = async (row, signal, rollout) => {
    try {
      const unresponsive = row.reason === NOT_RESPONDING && row.failures >= UNRESPONSIVE_AFTER;
      const spec = { ...specOf(row), ...(rollout === undefined ? {} : { rollout }) };
      return await driver.ensure(spec, { unresponsive, signal });
    } catch (error) {
      if (signal.aborted && error === signal.reason) throw error;
      logger.warn({ err: error, workspace: row.workspace_id }, 'runtime reconcile failed; will retry');
      const isUnreachable = error instanceof PlatformUnreachable;
      metrics.ensureFailed(isUnreachable ? 'unreachable' : 'refused');
      if (isUnreachable) return assumeObservation(row);
      return { phase: 'Progressing', reason: 'StartFailed', address: null, current: true };
    }
  };

  return {
    ensure,
    async observe(row, signal) {
      const observed = await ensure(row, signal);
      if (observed?.phase !== 'Ready' || observed.address === null) return { observed, instanceId: null };
      const target = { workspaceId: row.workspace_id, address: observed.address };
      const becameReady = row.phase !== 'Ready';
      const identity = await client.identify(target, signal, { becameReady }).catch(() => null);
      return { observed, instanceId: identity?.instanceId ?? null };
    },
  };
}
