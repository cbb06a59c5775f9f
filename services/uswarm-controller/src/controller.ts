import { CONTROLLER_MANAGER, LABEL, USERSWARMS } from '@uswarm/contract/userswarm';
import {
  type Change,
  createCredentials,
  createKubeClient,
  createWatch,
  DEFAULT_TIMING,
  keyOf,
  type KubeClient,
  type KubernetesObject,
  type Resource,
  startInformer,
  type Watch,
} from '@uswarm/kube-client';
import { Registry, systemClock } from '@uswarm/service-kit';
import { createWritePause, withPause } from './apply/write-pause.js';
import { createHook } from './hook/hook-client.js';
import { type Caches, startCaches } from './caches/caches.js';
import { listPodWarnings, type PodWarningsDeps } from './caches/pod-warnings.js';
import { runLeaderElection, LEASE_DURATION_S } from './leader/leader-election.js';
import { createLease } from './leader/lease.js';
import { type ControllerMetrics, createControllerMetrics } from './metrics.js';
import { createWorkQueue } from './queue/work-queue.js';
import { BACKOFF, type ControllerOptions, HOOK_TIMEOUT_MS, MAX_CONCURRENT_STARTS } from './options.js';
import { createStartLimiter } from './starts/start-limiter.js';
import { registerUserSwarms } from './userswarm-metrics.js';
import { createReconcilers } from './reconcilers.js';

export interface Controller {
  /**
   * True if the caches are synced and each watch is alive. A leader with a broken watch keeps leading: the fault
   * usually affects every replica, other namespaces are still reconciled, and its writes carry the observed
   * resourceVersion.
   */
  ready(): boolean;
  leading(): boolean;
  /** Finishes the reconciles in progress and releases the lease. */
  stop(): Promise<void>;
}

/**
 * Starts the controller. It fills its caches, and while it is the leader, reconciles each UserSwarm's children with the
 * sync hook's response.
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
    oldestReconcileAgeS: () => work.oldestReconcileAgeS(),
    rollout: () => work.rollout.state(),
    starts: () => ({ starting: starts.starting(), queued: starts.queued() }),
  });
  const clientDeps = { credentials, fieldManager: CONTROLLER_MANAGER, onWrite: metrics.wrote };
  const client = createKubeClient(clientDeps);
  // A reconcile that finds the server busy is requeued, so that it does not block its worker.
  const syncClient = withPause(createKubeClient({ ...clientDeps, busyRetries: 0 }), createWritePause());
  const hook = createHook({
    timeoutMs: HOOK_TIMEOUT_MS,
    token: undefined,
    ...options.hook,
    onAnswer: metrics.hookAnswered,
  });
  // A standby replica enqueues nothing. A new leader enqueues all UserSwarms.
  const enqueue = (key: string): void => {
    if (leading) queue.add(key);
  };
  const starts = createStartLimiter({
    maxConcurrent: options.maxConcurrentStarts ?? MAX_CONCURRENT_STARTS,
    wake: enqueue,
  });
  const onParent = (change: Change): void => {
    starts.changed(change);
    work.rollout.changed();
  };
  const caches = watchAll(options, resource, {
    client,
    watch: createWatch(credentials),
    enqueue,
    onParent,
    metrics,
    // A standby replica does not need Events.
    listWarnings: async (pods, signal) => (leading ? await listPodWarnings(client, pods, signal) : []),
  });
  registerUserSwarms(registry, {
    list: () => caches.parents.list(),
    synced: () => caches.synced(),
    clock: options.clock ?? systemClock,
  });
  const work = createReconcilers(options, resource, { client, syncClient, hook, caches, queue, starts, metrics });

  const stopping = new AbortController();
  const lead = async (signal: AbortSignal): Promise<void> => {
    leading = true;
    starts.reset();
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
      stopping.abort(new Error('the controller is stopping'));
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
  {
    client,
    watch,
    enqueue,
    onParent,
    metrics,
    listWarnings,
  }: Parts & {
    watch: Watch;
    enqueue: (key: string) => void;
    onParent: (change: Change) => void;
    listWarnings: PodWarningsDeps['list'];
  },
): Caches {
  const caches: Caches = startCaches({
    resource,
    runtimeNamespaces,
    listWarnings,
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
    onParent: (change) => {
      onParent(change);
      const parent = change.after ?? change.before;
      if (parent !== undefined) enqueue(keyOf(parent));
    },
    onChild: ({ before, after }) => {
      // Also the previous owner: another client may have removed the owner reference.
      const owners = [before, after].flatMap((child) => child?.metadata.ownerReferences ?? []);
      for (const name of new Set(owners.filter(({ kind }) => kind === resource.kind).map((owner) => owner.name))) {
        enqueue(name);
      }
    },
    onPod: ({ before, after }) => {
      const name = (after ?? before)?.metadata.labels?.[LABEL.instance];
      if (name !== undefined) enqueue(name);
    },
    onNamespace: (name) => {
      for (const parent of caches.parents.indexed(name)) enqueue(keyOf(parent));
    },
  });
  return caches;
}

function compete(
  { lease, identity, logger, clock = systemClock }: ControllerOptions,
  client: KubeClient,
  lead: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { namespace = '', name = '', durationS = LEASE_DURATION_S, timing } = lease ?? {};
  const held = createLease({ client, namespace, name, identity, durationS, clock });
  return runLeaderElection(
    { lease: held, onStartedLeading: lead, logger, ...(timing === undefined ? {} : { timing }) },
    signal,
  );
}

const phaseOf = (status: unknown): string | undefined => (status as { phase?: string } | undefined)?.phase;

/** A UserSwarm without a phase counts as Pending. */
function countPhases(parents: readonly KubernetesObject[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const parent of parents) {
    const phase = phaseOf(parent['status']) ?? 'Pending';
    counts.set(phase, (counts.get(phase) ?? 0) + 1);
  }
  return counts;
}
