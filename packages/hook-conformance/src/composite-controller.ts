import {
  type Condition,
  LABEL,
  type SyncRequest,
  type SyncResponse,
  UserSwarmStatus,
} from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-types';
import { ApiError, FOREGROUND, type ModelApiServer } from './api-server.js';
import { mergeApplied, type ApplyStrategy } from './apply.js';
import { claimChildren, controllerReference } from './claim.js';
import type { ManualClock } from './clock.js';
import { checkResponse, type Hook, HookFault } from './hook.js';
import { equal, type Json, wire } from './json.js';
import { asUserSwarm, controllerOf, GROUP_OF_KIND, hookKey, isTerminating, keyOf, type Ref, refOf } from './objects.js';

export interface FrameworkOptions {
  /** Only `builtin` sends pods and namespace, sets `Synced` and deletes in the foreground. */
  flavour: 'builtin' | 'metacontroller';
  apply: ApplyStrategy;
  /** Milliseconds until the cache contains a write. */
  cacheLagMs: number;
  resyncSeconds: number;
}

export interface SyncResult {
  /** Seconds until the next sync, besides events and the resync. */
  requeueAfter?: number;
  /** Failure in the hook or in a write. */
  failure?: Error;
}

/** Reads from a cache that may be stale. */
export interface CacheReader {
  get(ref: Ref): KubernetesObject | undefined;
  list(kind: string): KubernetesObject[];
}

const MANAGER = 'framework';
const RETRY_SECONDS = 2;

/** Metacontroller's CompositeController for UserSwarms, one sync at a time. */
export class ModelFramework {
  readonly #api: ModelApiServer;
  readonly #cache: CacheReader;
  readonly #clock: ManualClock;
  readonly #hook: Hook;
  readonly #options: FrameworkOptions;
  /** The last applied objects by uid. */
  readonly #last = new Map<string, Json>();
  /** The objects that Metacontroller sent by server-side apply and the resulting generations, by name. */
  readonly #sent = new Map<string, { desired: Json; generation: number | undefined }>();
  /** All hook calls, oldest first. */
  readonly calls: { request: SyncRequest; response: SyncResponse }[] = [];

  constructor(api: ModelApiServer, cache: CacheReader, clock: ManualClock, hook: Hook, options: FrameworkOptions) {
    this.#api = api;
    this.#cache = cache;
    this.#clock = clock;
    this.#hook = hook;
    this.#options = options;
  }

  get finalizer(): string {
    return this.#options.flavour === 'builtin'
      ? 'uswarm.dev/userswarm-controller'
      : 'metacontroller.io/compositecontroller-userswarm-controller';
  }

  async sync(name: string): Promise<SyncResult> {
    const parent = this.#cache.get({ kind: 'UserSwarm', name });
    if (parent === undefined) return {};
    const finalizing = isTerminating(parent);
    const finalizers = parent.metadata.finalizers ?? [];
    // The garbage collector handles a foreground deletion.
    if (finalizing && (!finalizers.includes(this.finalizer) || finalizers.includes(FOREGROUND))) return {};
    if (!finalizing && !finalizers.includes(this.finalizer))
      this.#setFinalizers(parent, [...finalizers, this.finalizer]);
    const request = this.#request(parent, finalizing);
    let response: SyncResponse;
    try {
      response = await this.#ask(request);
    } catch (error) {
      const message = error instanceof Error ? error.message : 'the webhook failed';
      return { ...this.#setSyncedFalse(parent, 'WebhookUnavailable', message), failure: new HookFault(message) };
    }
    if (finalizing && response.finalized === true) {
      this.#setFinalizers(
        parent,
        finalizers.filter((finalizer) => finalizer !== this.finalizer),
      );
      return {};
    }
    const failure = this.#manage(request, response);
    const changed = this.#writeStatus(parent, response, failure);
    const requeueAfter = failure === undefined ? response.resyncAfterSeconds : RETRY_SECONDS;
    return {
      ...(changed ? { requeueAfter: 0 } : requeueAfter === undefined ? {} : { requeueAfter }),
      ...(failure === undefined ? {} : { failure }),
    };
  }

  async #ask(request: SyncRequest): Promise<SyncResponse> {
    const first = await this.#hook(wire(request));
    const second = await this.#hook(wire(request));
    if (JSON.stringify(first) !== JSON.stringify(second)) throw new HookFault('equal requests get different responses');
    const response = checkResponse(request, wire(first));
    this.calls.push({ request, response });
    return response;
  }

  #request(parent: KubernetesObject, finalizing: boolean): SyncRequest {
    const request: SyncRequest = {
      controller: {
        apiVersion: 'metacontroller.k8s.io/v1alpha1',
        kind: 'CompositeController',
        metadata: { name: 'userswarm-controller' },
      },
      parent: asUserSwarm(parent),
      children: { 'ServiceAccount.v1': {}, 'Service.v1': {}, 'Deployment.apps/v1': {} },
      related: {},
      finalizing,
    };
    for (const [kind, group] of Object.entries(GROUP_OF_KIND)) {
      for (const child of this.#childrenOf(parent, kind)) request.children[group][hookKey(child)] = child;
    }
    return this.#options.flavour === 'builtin' ? { ...request, related: this.#related(parent) } : request;
  }

  #childrenOf(parent: KubernetesObject, kind: string): KubernetesObject[] {
    const all = this.#cache.list(kind);
    if (this.#options.flavour === 'metacontroller') return claimChildren(this.#api, MANAGER, parent, all);
    const { uid } = parent.metadata;
    return all.filter((child) => controllerOf(child) === uid && child.metadata.labels?.[LABEL.controllerUid] === uid);
  }

  #related(parent: KubernetesObject): SyncRequest['related'] {
    const { spec } = asUserSwarm(parent);
    const byKey = (objects: KubernetesObject[]): Record<string, KubernetesObject> =>
      Object.fromEntries(objects.map((object) => [hookKey(object), object]));
    const pods = this.#cache
      .list('Pod')
      .filter(({ metadata }) => metadata.labels?.[LABEL.instance] === parent.metadata.name);
    const namespace = this.#cache.get({ kind: 'Namespace', name: spec.placement.runtimeNamespace });
    return { 'Pod.v1': byKey(pods), 'Namespace.v1': byKey(namespace === undefined ? [] : [namespace]) };
  }

  /** Creates, applies and deletes children. Continues after a failure. @returns the first failure */
  #manage(request: SyncRequest, { children }: SyncResponse): ApiError | undefined {
    const observed = Object.values(request.children).flatMap((group) => Object.values(group));
    const desired = children as unknown as KubernetesObject[];
    const failures: ApiError[] = [];
    const attempt = (work: () => void): void => {
      try {
        work();
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        failures.push(error);
      }
    };
    for (const child of desired) {
      const found = observed.find((one) => keyOf(refOf(one)) === keyOf(refOf(child)));
      if (this.#appliesWithoutRead) attempt(() => this.#send(request, found, child));
      else if (found === undefined) attempt(() => this.#create(request, child));
      else if (!isTerminating(found)) attempt(() => this.#apply(request, found, child));
    }
    const wanted = new Set(desired.map((child) => keyOf(refOf(child))));
    for (const child of observed.filter((one) => !isTerminating(one) && !wanted.has(keyOf(refOf(one))))) {
      attempt(() => this.#delete(child));
    }
    return failures[0];
  }

  /** Metacontroller's server-side apply. */
  get #appliesWithoutRead(): boolean {
    return this.#options.flavour === 'metacontroller' && this.#options.apply === 'server-side';
  }

  /**
   * Applies to any object with the name, and adopts it by its label. Skips an object that is unchanged since it was
   * sent and has the same generation, so changes to kinds without a generation are missed.
   */
  #send({ parent }: SyncRequest, observed: KubernetesObject | undefined, child: KubernetesObject): void {
    const key = keyOf(refOf(child));
    const desired = wire(labelled(parent as unknown as KubernetesObject, child)) as unknown as Json;
    const before = this.#sent.get(key);
    const same = before !== undefined && equal(before.desired, desired);
    if (same && observed !== undefined && before.generation === observed.metadata.generation) return;
    const live = this.#api.get(refOf(child));
    const sent =
      live === undefined
        ? this.#api.create(MANAGER, desired as unknown as KubernetesObject)
        : this.#api.update(
            MANAGER,
            mergeApplied(
              'server-side',
              live as unknown as Json,
              before?.desired,
              desired,
            ) as unknown as KubernetesObject,
          );
    this.#sent.set(key, { desired, generation: sent.metadata.generation });
    // In Metacontroller, the next sync adopts the child.
    claimChildren(this.#api, MANAGER, parent as unknown as KubernetesObject, [sent]);
  }

  #owned({ parent }: SyncRequest, child: KubernetesObject): KubernetesObject {
    const owner = parent as unknown as KubernetesObject;
    const owned = labelled(owner, child);
    return { ...owned, metadata: { ...owned.metadata, ownerReferences: [controllerReference(owner)] } };
  }

  #create(request: SyncRequest, child: KubernetesObject): void {
    const owned = this.#owned(request, child);
    try {
      const { metadata } = this.#api.create(MANAGER, owned);
      this.#last.set(metadata.uid ?? '', wire(owned) as unknown as Json);
    } catch (error) {
      if (!(error instanceof ApiError) || error.reason !== 'AlreadyExists') throw error;
      // The cache does not contain a new child yet, or the object is foreign, which Metacontroller does not report.
      const existing = this.#api.get(refOf(child));
      const ours = existing !== undefined && controllerOf(existing) === request.parent.metadata.uid;
      if (!ours && this.#options.flavour === 'builtin') throw error;
    }
  }

  #apply(request: SyncRequest, observed: KubernetesObject, child: KubernetesObject): void {
    const desired = wire(this.#owned(request, child)) as unknown as Json;
    const uid = observed.metadata.uid ?? '';
    const next = mergeApplied(this.#options.apply, observed as unknown as Json, this.#last.get(uid), desired);
    // Metacontroller compares before the API server sets defaults.
    if (equal(next, observed)) return;
    const live = this.#api.get(refOf(observed));
    if (live?.metadata.uid !== uid) throw new ApiError('Conflict', `${keyOf(refOf(observed))} has another uid`);
    // A client-side merge with a stale object is a conflict; the server merges with the live object.
    const stale =
      this.#options.apply === 'three-way' && live.metadata.resourceVersion !== observed.metadata.resourceVersion;
    if (stale) throw new ApiError('Conflict', `${keyOf(refOf(observed))} has been modified`);
    const last = this.#last.get(uid);
    this.#last.set(uid, desired);
    const whole = mergeApplied(this.#options.apply, live as unknown as Json, last, desired);
    this.#api.update(MANAGER, whole as unknown as KubernetesObject);
  }

  #delete(child: KubernetesObject): void {
    const foreground = this.#options.flavour === 'builtin' && child.kind === 'Deployment';
    try {
      this.#api.delete(MANAGER, refOf(child), {
        ...(child.metadata.uid === undefined ? {} : { uid: child.metadata.uid }),
        foreground,
      });
    } catch (error) {
      if (!(error instanceof ApiError) || !['NotFound', 'Conflict'].includes(error.reason)) throw error;
    }
    this.#sent.delete(keyOf(refOf(child)));
  }

  /** @returns whether `Synced` changed */
  #writeStatus(parent: KubernetesObject, { status }: SyncResponse, failure: ApiError | undefined): boolean {
    const conditions = (status as UserSwarmStatus).conditions ?? [];
    const before = conditions.find(({ type }) => type === 'Synced');
    const synced = this.#synced(
      before,
      parent,
      failure === undefined ? undefined : [reasonOf(failure), failure.message],
    );
    const builtin = this.#options.flavour === 'builtin';
    const all = builtin
      ? conditions.map((condition) => (condition.type === 'Synced' ? synced : condition))
      : conditions;
    this.#putStatus(parent, { ...status, conditions: all, observedGeneration: parent.metadata.generation });
    return builtin && before?.status !== synced.status;
  }

  #setSyncedFalse(parent: KubernetesObject, reason: string, message: string): SyncResult {
    const { status } = asUserSwarm(parent);
    if (this.#options.flavour === 'builtin' && status?.conditions !== undefined) {
      const before = status.conditions.find(({ type }) => type === 'Synced');
      const synced = this.#synced(before, parent, [reason, message]);
      const others = status.conditions.map((condition) => (condition.type === 'Synced' ? synced : condition));
      this.#putStatus(parent, { ...status, conditions: others });
    }
    return { requeueAfter: RETRY_SECONDS };
  }

  #synced(
    before: Condition | undefined,
    { metadata }: KubernetesObject,
    failure: [string, string] | undefined,
  ): Condition {
    const status = failure === undefined ? 'True' : 'False';
    return {
      type: 'Synced',
      status,
      observedGeneration: metadata.generation ?? 0,
      lastTransitionTime:
        before?.status === status ? before.lastTransitionTime : `${this.#clock.now().toISOString().slice(0, 19)}Z`,
      reason: failure?.[0] ?? 'Synced',
      message: failure?.[1] ?? 'The children are as rendered.',
    };
  }

  /** Compares with the stored status, from which the schema pruned unknown fields. */
  #putStatus(parent: KubernetesObject, status: object): void {
    const ref = refOf(parent);
    const live = this.#api.get(ref);
    if (live === undefined || live.metadata.uid !== parent.metadata.uid || equal(live['status'], wire(status))) return;
    const pruned = UserSwarmStatus.safeParse(wire(status));
    if (!pruned.success) throw new HookFault(`the status does not fit the resource: ${pruned.error.message}`);
    this.#api.updateStatus(MANAGER, ref, pruned.data);
  }

  #setFinalizers(parent: KubernetesObject, finalizers: string[]): void {
    const live = this.#api.get(refOf(parent));
    if (live === undefined || live.metadata.uid !== parent.metadata.uid) return;
    this.#api.update(MANAGER, { ...live, metadata: { ...live.metadata, finalizers } });
    parent.metadata.finalizers = finalizers;
  }
}

const labelled = ({ metadata }: KubernetesObject, child: KubernetesObject): KubernetesObject => ({
  ...child,
  metadata: { ...child.metadata, labels: { ...child.metadata.labels, [LABEL.controllerUid]: metadata.uid ?? '' } },
});

function reasonOf({ reason, message }: ApiError): string {
  if (reason === 'AlreadyExists') return 'NameConflict';
  if (reason === 'NotFound' && message.startsWith('namespaces ')) return 'NamespaceMissing';
  if (reason === 'Forbidden') return message.includes('exceeded quota') ? 'QuotaExceeded' : 'Forbidden';
  return 'ApplyFailed';
}
