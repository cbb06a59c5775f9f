import { CONTROLLER_MANAGER, type KubernetesObject, LABEL, USERSWARMS } from '@uswarm/contract/userswarm';
import {
  createCredentials,
  createKubeClient,
  createWatch,
  DEFAULT_TIMING,
  type InformerTiming,
  keyOf,
  type KubeClient,
  type KubeConfig,
  type Resource,
  startInformer,
  type Watch,
} from '@uswarm/kube-client';
import { type Backoff, type Clock, type Logger, Registry, systemClock } from '@uswarm/service-kit';
import { createChildWriter } from './apply/child-writer.js';
import { createEventRecorder } from './events/event-recorder.js';
import { childEvent, isNews, statusEvents } from './events/occasions.js';
import { createHook, type Hook } from './hook/hook-client.js';
import { type Caches, startCaches } from './caches/caches.js';
import { campaign, type CampaignTiming, LEASE_DURATION_S } from './leader/campaign.js';
import { createLease } from './leader/lease.js';
import { type ControllerMetrics, createControllerMetrics } from './metrics.js';
import { createWorkQueue, type WorkQueue } from './queue/work-queue.js';
import type { Status } from './status/merge.js';
import { createTimeToReady } from './status/time-to-ready.js';
import { describeController } from './sync/request.js';
import { syncUserSwarm } from './sync/sync.js';
import { createWorkers, type Workers } from './sync/workers.js';
import { registerUserSwarms } from './userswarm-metrics.js';

export interface ControllerOptions {
  kubeConfig: KubeConfig;
  hook: { url: string; token?: string | undefined; timeoutMs?: number };
  /** The namespaces that children may be in; what happens in others is neither seen nor touched. */
  runtimeNamespaces: readonly string[];
  /** What is looked after; UserSwarms unless a test brings a kind of its own. */
  resource?: Resource;
  /** Seconds. spec: supporting §8 */
  resyncS?: number;
  workers?: number;
  /** Without it the controller leads at once: only where there is no other. */
  lease?: { namespace: string; name: string; durationS?: number; timing?: CampaignTiming } | undefined;
  /** The pod's name: who holds the lease, and who recorded an Event. */
  identity: string;
  eventsNamespace?: string;
  logger: Logger;
  registry?: Registry;
  clock?: Clock;
  timing?: InformerTiming;
  backoff?: Backoff;
}

export interface Controller {
  /** The caches are filled: it works, or could take over at once. */
  ready(): boolean;
  leading(): boolean;
  /** Finishes the syncs under way and gives the lease back. */
  stop(): Promise<void>;
}

/** No pause is longer than what people wait for a condition to show that the cause is gone. */
const BACKOFF: Backoff = { initialMs: 200, maxMs: 10_000 };
export const RESYNC_S = 30;
export const WORKERS = 16;
export const HOOK_TIMEOUT_MS = 10_000;

/**
 * The controller framework, at work from now until it is stopped: watches, and while it leads, keeps
 * the children of each UserSwarm as the hook wants them.
 */
export async function createController(options: ControllerOptions): Promise<Controller> {
  const { resource = USERSWARMS, registry = new Registry(), backoff = BACKOFF } = options;
  const credentials = await createCredentials(options.kubeConfig);
  let leading = false;
  const queue = createWorkQueue({ backoff, onWaited: (ms) => metrics.waited(ms / 1_000) });
  const metrics = createControllerMetrics(registry, {
    queueDepth: () => queue.depth(),
    leading: () => leading,
    phases: () => countPhases(caches.parents.list()),
    longestUnsyncedS: () => work.longestUnsyncedS(),
  });
  const client = createKubeClient({ credentials, fieldManager: CONTROLLER_MANAGER, onWrite: metrics.wrote });
  const hook = createHook({
    timeoutMs: HOOK_TIMEOUT_MS,
    token: undefined,
    ...options.hook,
    onAnswer: metrics.hookAnswered,
  });
  // Who stands by works on nothing; who begins to lead begins with all of them.
  const wanted = (key: string): void => {
    if (leading) queue.add(key);
  };
  const caches = watchAll(options, resource, { client, watch: createWatch(credentials), wanted, metrics });
  registerUserSwarms(registry, {
    list: () => caches.parents.list(),
    synced: () => caches.synced(),
    clock: options.clock ?? systemClock,
  });
  const work = syncWith(options, resource, { client, hook, caches, queue, metrics });

  const stopping = new AbortController();
  const lead = async (signal: AbortSignal): Promise<void> => {
    leading = true;
    for (const parent of caches.parents.list()) queue.add(keyOf(parent));
    await work.run(signal);
    leading = false;
    queue.clear();
  };
  const running = options.lease === undefined ? lead(stopping.signal) : compete(options, client, lead, stopping.signal);
  return {
    ready: () => caches.synced(),
    leading: () => leading,
    async stop() {
      stopping.abort(new Error('the controller stops'));
      await running;
      queue.close();
      await caches.stop();
      await work.close();
      await hook.close();
      await credentials.close();
    },
  };
}

interface Parts {
  client: KubeClient;
  metrics: ControllerMetrics;
}

function watchAll(
  { runtimeNamespaces, timing = DEFAULT_TIMING, logger }: ControllerOptions,
  resource: Resource,
  { client, watch, wanted, metrics }: Parts & { watch: Watch; wanted: (key: string) => void },
): Caches {
  const caches: Caches = startCaches({
    resource,
    runtimeNamespaces,
    start: (informer) =>
      startInformer({
        ...informer,
        client,
        watch,
        timing,
        logger,
        onFault: (fault) => metrics.watchFailed(informer.resource.plural, fault),
        onWatch: () => metrics.watchStarted(informer.resource.plural),
      }),
    onParent: ({ before, after }) => {
      const parent = after ?? before;
      if (parent !== undefined) wanted(keyOf(parent));
    },
    onChild: ({ before, after }) => {
      // Also whose it was: somebody may have taken the owner off.
      const owners = [before, after].flatMap((child) => child?.metadata.ownerReferences ?? []);
      for (const name of new Set(owners.filter(({ kind }) => kind === resource.kind).map((owner) => owner.name))) {
        wanted(name);
      }
    },
    onPod: ({ before, after }) => {
      const name = (after ?? before)?.metadata.labels?.[LABEL.instance];
      if (name !== undefined) wanted(name);
    },
    onNamespace: (name) => {
      for (const parent of caches.parents.indexed(name)) wanted(keyOf(parent));
    },
  });
  return caches;
}

function syncWith(
  options: ControllerOptions,
  resource: Resource,
  { client, hook, caches, queue, metrics }: Parts & { hook: Hook; caches: Caches; queue: WorkQueue },
): Workers & { close(): Promise<void> } {
  const { resyncS = RESYNC_S, clock = systemClock, logger } = options;
  const timeToReady = createTimeToReady(metrics.becameReady);
  const events = createEventRecorder({
    client,
    namespace: options.eventsNamespace ?? 'default',
    component: CONTROLLER_MANAGER,
    instance: options.identity,
    clock,
    logger,
    onDropped: metrics.eventDropped,
  });
  const deps = {
    client,
    hook,
    caches,
    resource,
    clock,
    writer: createChildWriter(client, CONTROLLER_MANAGER),
    controller: describeController(resource, resyncS),
    onChild: (parent, step) => {
      const event = childEvent(step);
      logger.info({ userswarm: parent.metadata.name, event: event.reason }, event.message);
      if (isNews(step, parent['status'] as Status | undefined)) events.record(parent, event);
    },
    onStatus: (parent, before, after) => {
      timeToReady.changed(parent.metadata.uid ?? '', phaseOf(before), phaseOf(after));
      for (const event of statusEvents(before, after)) {
        logger.info({ userswarm: parent.metadata.name, event: event.reason }, event.message);
        events.record(parent, event);
      }
    },
  } satisfies Parameters<typeof syncUserSwarm>[0];
  const workers = createWorkers({
    queue,
    workers: options.workers ?? WORKERS,
    resyncMs: resyncS * 1_000,
    parentOf: (key) => caches.parents.get(key),
    sync: (key, syncOptions) => {
      const parent = caches.parents.get(key);
      if (parent?.metadata.uid !== undefined) timeToReady.seen(parent.metadata.uid, phaseOf(parent['status']));
      return syncUserSwarm(deps, key, syncOptions);
    },
    onSynced: (outcome, seconds, reason) => {
      metrics.synced(outcome, seconds);
      if (reason !== undefined) metrics.failed(reason);
    },
    onGone: (uid) => timeToReady.forget(uid),
    clock,
    logger,
  });
  return { ...workers, close: () => events.close() };
}

function compete(
  { lease, identity, logger, clock = systemClock }: ControllerOptions,
  client: KubeClient,
  lead: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { namespace = '', name = '', durationS = LEASE_DURATION_S, timing } = lease ?? {};
  const held = createLease({ client, namespace, name, identity, durationS, clock });
  return campaign({ lease: held, lead, logger, ...(timing === undefined ? {} : { timing }) }, signal);
}

const phaseOf = (status: unknown): string | undefined => (status as { phase?: string } | undefined)?.phase;

/** A UserSwarm without a phase shows as Pending. */
function countPhases(parents: readonly KubernetesObject[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const parent of parents) {
    const phase = phaseOf(parent['status']) ?? 'Pending';
    counts.set(phase, (counts.get(phase) ?? 0) + 1);
  }
  return counts;
}
