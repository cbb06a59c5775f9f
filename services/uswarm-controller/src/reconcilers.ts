import { CONTROLLER_MANAGER } from '@uswarm/contract/userswarm';
import { keyOf, type KubeClient, type KubernetesObject, type Resource } from '@uswarm/kube-client';
import { systemClock } from '@uswarm/service-kit';
import { createChildWriter } from './apply/child-writer.js';
import type { SyncClient } from './apply/write-pause.js';
import type { Caches } from './caches/caches.js';
import { type ControllerOptions, RESYNC_S, ROLLOUT_LIMITS, WORKERS } from './options.js';
import { createEventRecorder, type RecordedEvent } from './events/event-recorder.js';
import { childEvent, createStatusEvents, worthRecording } from './events/event-messages.js';
import type { Hook } from './hook/hook-client.js';
import type { ControllerMetrics } from './metrics.js';
import type { WorkQueue } from './queue/work-queue.js';
import { createRolloutCoordinator, type RolloutCoordinator } from './rollout/coordinator.js';
import type { StartLimiter } from './starts/start-limiter.js';
import type { Status } from './status/merge.js';
import { createTimeToReady } from './status/time-to-ready.js';
import { describeController } from './sync/request.js';
import { type SyncDeps, syncUserSwarm } from './sync/sync.js';
import { createWorkers, type Workers } from './sync/workers.js';

export interface ReconcilersDeps {
  client: KubeClient;
  /** The client for reconciles: its writes pause while the API server is busy. */
  syncClient: SyncClient;
  hook: Hook;
  caches: Caches;
  queue: WorkQueue;
  starts: StartLimiter;
  metrics: ControllerMetrics;
}

export interface Work extends Pick<Workers, 'oldestReconcileAgeS'> {
  rollout: Pick<RolloutCoordinator, 'changed' | 'state'>;
  /** Runs until aborted; resolves when no reconcile is in progress. */
  run(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** Creates the parts that run on the leader: the workers, the rollout coordinator and the Event recorder. */
export function createReconcilers(options: ControllerOptions, resource: Resource, parts: ReconcilersDeps): Work {
  const { client, caches, queue, metrics } = parts;
  const { resyncS = RESYNC_S, clock = systemClock, logger } = options;
  const events = createEventRecorder({
    client,
    namespace: options.eventsNamespace ?? 'default',
    component: CONTROLLER_MANAGER,
    instance: options.identity,
    clock,
    logger,
    onDropped: metrics.eventDropped,
  });
  const rollout = createRolloutCoordinator({
    client,
    resource,
    parents: caches.parents,
    limits: options.rollout ?? ROLLOUT_LIMITS,
    initialDelayMs: options.rolloutInitialDelayMs ?? 0,
    periodMs: resyncS * 1_000,
    record: events.record,
    onGrant: (parent, forced) => {
      metrics.granted(forced);
      // The webhook acts on a forced grant, so a reconcile is due.
      if (forced) queue.add(keyOf(parent));
    },
    onStale: (parent) => queue.add(keyOf(parent)),
    clock,
    logger,
  });
  const workers = createSyncs(options, resource, parts, { record: events.record, rollout });
  return {
    rollout,
    oldestReconcileAgeS: workers.oldestReconcileAgeS,
    run: async (signal) => void (await Promise.all([workers.run(signal), rollout.run(signal)])),
    close: () => events.close(),
  };
}

interface Notifications {
  record: (parent: KubernetesObject, event: RecordedEvent) => void;
  rollout: Pick<RolloutCoordinator, 'changed'>;
}

function createSyncs(
  options: ControllerOptions,
  resource: Resource,
  parts: ReconcilersDeps,
  notify: Notifications,
): Workers {
  const { syncClient: client, hook, caches, queue, starts, metrics } = parts;
  const { resyncS = RESYNC_S, clock = systemClock, logger } = options;
  const timeToReady = createTimeToReady(metrics.becameReady);
  const statusEvents = createStatusEvents();
  const recordEvent = (parent: KubernetesObject, event: RecordedEvent, isWorthRecording = true): void => {
    logger.info({ userswarm: parent.metadata.name, event: event.reason }, event.message);
    if (isWorthRecording) notify.record(parent, event);
  };
  const deps: SyncDeps = {
    client,
    hook,
    caches,
    starts,
    resource,
    clock,
    writer: createChildWriter(client, CONTROLLER_MANAGER),
    controller: describeController(resource, resyncS),
    ...(options.hook.outageMs === undefined ? {} : { outageShownMs: options.hook.outageMs }),
    onChild: (parent, step) =>
      recordEvent(parent, childEvent(step), worthRecording(step, parent['status'] as Status | undefined)),
    onStatus: (parent, before, after) => {
      const uid = parent.metadata.uid ?? '';
      timeToReady.changed(uid, phaseOf(before), phaseOf(after));
      // The store already has our own writes, so no watch event reports them.
      starts.changed({ before: parent, after: { ...parent, status: after } });
      notify.rollout.changed();
      for (const { event, isRecorded } of statusEvents.changed(uid, before, after)) {
        recordEvent(parent, event, isRecorded);
      }
    },
  };
  return createWorkers({
    queue,
    workers: options.workers ?? WORKERS,
    resyncMs: resyncS * 1_000,
    parentOf: (key) => caches.parents.get(key),
    sync: async (key, syncOptions) => {
      const parent = caches.parents.get(key);
      if (parent?.metadata.uid !== undefined) timeToReady.seen(parent.metadata.uid, phaseOf(parent['status']));
      const result = await syncUserSwarm(deps, key, syncOptions);
      // The reconcile did not call the start limiter.
      if (result.outcome === 'gone' || result.outcome === 'waiting') starts.forget(key);
      return result;
    },
    onSynced: (outcome, seconds, reason) => {
      metrics.synced(outcome, seconds);
      if (reason !== undefined) metrics.failed(reason);
    },
    onGone(uid) {
      timeToReady.forget(uid);
      statusEvents.forget(uid);
    },
    clock,
    logger,
  });
}

const phaseOf = (status: unknown): string | undefined => (status as { phase?: string } | undefined)?.phase;
