import { setTimeout as sleep } from 'node:timers/promises';
import { ROLLOUT } from '@uswarm/contract/userswarm';
import {
  isConflict,
  isNotFound,
  isRefusal,
  type KubeClient,
  type KubernetesObject,
  type Resource,
  type Store,
} from '@uswarm/kube-client';
import type { Clock, Logger } from '@uswarm/service-kit';
import type { RecordedEvent } from '../events/event-recorder.js';
import { type Grant, planRollout, type RolloutLimits, type RolloutPlan } from './plan.js';

export type RolloutState = Pick<RolloutPlan, 'pending' | 'inFlight'> & { failed: number; halted: boolean };

export interface RolloutCoordinator {
  /** Must be called when a UserSwarm changed. */
  changed(): void;
  /** Gives grants until aborted. */
  run(signal: AbortSignal): Promise<void>;
  /** State after the last pass; all zero on standby. */
  state(): RolloutState;
}

export interface RolloutDeps {
  client: Pick<KubeClient, 'get' | 'mergePatch'>;
  resource: Resource;
  parents: Pick<Store, 'list' | 'written' | 'deleted'>;
  limits: RolloutLimits;
  /** Milliseconds between two passes without a change, so that deadlines take effect. */
  periodMs: number;
  /**
   * Milliseconds after the start without new grants. An upgrade replaces controller and orchestrators at about the same
   * time, and an orchestrator of an older release does not resume a runtime that was suspended for a rollout. Default:
   * 0
   */
  initialDelayMs?: number;
  /** Milliseconds for which changes are collected before a pass. */
  settleMs?: number;
  record: (parent: KubernetesObject, event: RecordedEvent) => void;
  /** Called when a grant was written. */
  onGrant: (parent: KubernetesObject, forced: boolean) => void;
  /** Called when a UserSwarm turned out to have been changed or deleted. No watch event will report it. */
  onStale: (parent: KubernetesObject) => void;
  clock: Clock;
  logger: Pick<Logger, 'info' | 'warn'>;
}

const SETTLE_MS = 100;
const REST: RolloutState = { pending: 0, inFlight: 0, failed: 0, halted: false };

/** Grants the rollout to waiting runtimes with bounded concurrency, and halts a revision after repeated failures. */
export function createRolloutCoordinator(deps: RolloutDeps): RolloutCoordinator {
  const { parents, limits, clock, logger, periodMs, initialDelayMs = 0, settleMs = SETTLE_MS } = deps;
  let state = REST;
  let dirty = false;
  let wake: () => void = () => {};
  /** Revisions whose halt was reported. */
  let halted = new Set<string>();
  /** Uids of UserSwarms whose last write was refused. */
  const refused = new Set<string>();

  const changed = (): void => {
    dirty = true;
    wake();
  };
  const pause = async (mostMs: number, signal: AbortSignal): Promise<void> => {
    if (!dirty) {
      const woken = new AbortController();
      wake = () => woken.abort();
      await sleep(mostMs, undefined, { signal: AbortSignal.any([signal, woken.signal]) }).catch(() => {});
      wake = () => {};
    }
    await sleep(settleMs, undefined, { signal }).catch(() => {});
  };
  const tellHalts = (plan: RolloutPlan): void => {
    const fresh = plan.halted.filter((revision) => !halted.has(revision));
    halted = new Set(plan.halted);
    for (const revision of fresh) {
      const failed = plan.failed.get(revision) ?? [];
      logger.warn({ revision, failed: failed.length }, 'rollout halted: too many consecutive failures');
      const message = `No more runtimes get revision ${revision}: ${limits.maxFailures} in a row did not become Ready with it.`;
      for (const parent of failed) deps.record(parent, { type: 'Warning', reason: 'RolloutHalted', message });
    }
  };
  /** A refused write does not block the other UserSwarms. */
  const attempt = async (parent: KubernetesObject, act: () => Promise<unknown>): Promise<void> => {
    const { uid = '', name } = parent.metadata;
    try {
      await act();
      refused.delete(uid);
      // No watch reports our own writes.
      dirty = true;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      logger.warn({ err: error, userswarm: name }, 'rollout grant refused; will retry');
      // Another UserSwarm can take its place. A repeated refusal changes nothing.
      dirty ||= !refused.has(uid);
      refused.add(uid);
    }
  };
  const step = async (calm: boolean, signal: AbortSignal): Promise<void> => {
    dirty = false;
    const atMost = calm ? { ...limits, maxConcurrent: 0 } : limits;
    const plan = planRollout(parents.list(), atMost, clock.now(), refused);
    const failed = [...plan.failed.values()].reduce((sum, { length }) => sum + length, 0);
    state = { pending: plan.pending, inFlight: plan.inFlight, failed, halted: plan.halted.length > 0 };
    tellHalts(plan);
    for (const parent of plan.unused) await attempt(parent, () => write(deps, parent, NO_GRANT, signal));
    for (const grant of plan.grants) await attempt(grant.parent, () => give(deps, grant, signal));
  };
  return {
    changed,
    state: () => state,
    async run(signal) {
      const begunAt = performance.now();
      while (!signal.aborted) {
        const delayLeftMs = begunAt + initialDelayMs - performance.now();
        await step(delayLeftMs > 0, signal).catch((error: unknown) => {
          if (!signal.aborted) logger.warn({ err: error }, 'rollout grant failed; will retry');
        });
        await pause(delayLeftMs > 0 ? Math.min(delayLeftMs, periodMs) : periodMs, signal);
      }
      state = REST;
      halted = new Set();
      refused.clear();
    },
  };
}

const NO_GRANT = { [ROLLOUT.revision]: null, [ROLLOUT.time]: null, [ROLLOUT.forced]: null };

const REASONS: Record<Grant['reason'], string> = {
  idle: 'it is idle',
  deadline: 'it waited longer than it may',
  forced: 'the operator forces the rollout',
};

async function give(
  deps: RolloutDeps,
  { parent, revision, forced, reason, since }: Grant,
  signal: AbortSignal,
): Promise<void> {
  // A grant must not be older than the wait, and the webhook's clock may be ahead.
  const time = new Date(Math.max(deps.clock.now().getTime(), since));
  const annotations = {
    [ROLLOUT.revision]: revision,
    [ROLLOUT.time]: time.toISOString(),
    [ROLLOUT.forced]: forced ? 'true' : null,
  };
  if (!(await write(deps, parent, annotations, signal))) return;
  deps.onGrant(parent, forced);
  const message = `Gets revision ${revision} of the platform: ${REASONS[reason]}.`;
  deps.logger.info({ userswarm: parent.metadata.name, revision, forced, reason }, 'rollout granted');
  deps.record(parent, { type: 'Normal', reason: 'RolloutGranted', message });
}

/** Writes with optimistic locking. @returns false on a conflict, which the next pass handles */
async function write(
  { client, resource, parents, onStale }: RolloutDeps,
  parent: KubernetesObject,
  annotations: Record<string, string | null>,
  signal: AbortSignal,
): Promise<boolean> {
  const { uid, resourceVersion } = parent.metadata;
  try {
    const patch = { metadata: { uid, resourceVersion, annotations } };
    parents.written(await client.mergePatch(resource, parent.metadata, patch, signal));
    return true;
  } catch (error) {
    if (isNotFound(error)) parents.deleted(parent);
    else if (isConflict(error)) parents.written(await client.get(resource, parent.metadata, signal));
    else throw error;
    onStale(parent);
    return false;
  }
}
