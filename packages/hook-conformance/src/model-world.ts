import { LABEL, UserSwarmSpec } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-types';
import { ModelApiServer } from './api-server.js';
import { mergeApplied } from './apply.js';
import type { ManualClock } from './clock.js';
import { ModelCluster, NAMESPACE_FINALIZER } from './cluster.js';
import { type CacheReader, type FrameworkOptions, ModelFramework } from './composite-controller.js';
import type { Hook } from './hook.js';
import { type Json, type JsonObject, mergePatch, wire } from './json.js';
import { controllerOf, keyOf, type Ref, refOf } from './objects.js';
import type { ImageBehaviour } from './pod-life.js';
import type { Capability, HookFaultMode, World } from './world.js';

export interface ModelWorldOptions extends Partial<FrameworkOptions> {
  hook: Hook;
  /** The next release's hook, which holds back running pods. */
  nextHook?: Hook;
  clock: ManualClock;
  namespace?: string;
  spareNamespace?: string;
}

const STEP_MS = 250;

export const MODEL_IMAGES = {
  good: 'registry.test/runtime:1',
  other: 'registry.test/runtime:2',
  missing: 'registry.test/nothing:1',
  crashing: 'registry.test/crashing:1',
  hungry: 'registry.test/hungry:1',
  forbidden: 'elsewhere.test/runtime:1',
};

interface Event {
  at: number;
  key: string;
  object: KubernetesObject | undefined;
  /** Affected UserSwarms by name. */
  affected: string[];
}

/** A cluster model. Time passes only during `waitFor`, `pass` and `step`. */
export class ModelWorld implements World {
  readonly capabilities: ReadonlySet<Capability>;
  readonly images = MODEL_IMAGES;
  readonly namespace: string;
  readonly spareNamespace: string;
  readonly resyncSeconds: number;
  readonly api: ModelApiServer;
  readonly framework: ModelFramework;
  /** Sync failures, oldest first. */
  readonly failures: Error[] = [];
  readonly #clock: ManualClock;
  readonly #cluster: ModelCluster;
  readonly #options: FrameworkOptions;
  /** Next sync by UserSwarm, in clock milliseconds. */
  readonly #due = new Map<string, number>();
  readonly #lastByUsers = new Map<string, Json>();
  readonly #history: Event[] = [];
  readonly #seen = new Map<string, KubernetesObject>();
  readonly #hooks: Record<'first' | 'next', Hook>;
  #mode: HookFaultMode = 'none';
  #release: 'first' | 'next' = 'first';
  #resynced = 0;

  constructor({
    hook,
    nextHook,
    clock,
    namespace = 'userswarms',
    spareNamespace = 'userswarms-spare',
    ...options
  }: ModelWorldOptions) {
    this.#options = { flavour: 'builtin', apply: 'server-side', cacheLagMs: 0, resyncSeconds: 30, ...options };
    this.#clock = clock;
    this.namespace = namespace;
    this.spareNamespace = spareNamespace;
    this.resyncSeconds = this.#options.resyncSeconds;
    this.#hooks = { first: hook, next: nextHook ?? hook };
    const all: Capability[] = ['pods', 'namespaces', 'hook faults', 'counting', 'starts'];
    if (nextHook !== undefined) all.push('releases');
    this.capabilities = new Set<Capability>(this.#options.flavour === 'builtin' ? [...all, 'reasons'] : all);
    this.api = new ModelApiServer(clock.now);
    this.api.watch((object) => this.#written(object));
    this.#cluster = new ModelCluster(this.api, clock, imageBehaviours());
    this.framework = new ModelFramework(
      this.api,
      this.#cache(),
      clock,
      (request) => this.#call(this.#hooks[this.#release], request),
      this.#options,
    );
    this.#createNamespace(namespace);
  }

  async apply(object: KubernetesObject): Promise<void> {
    const ref = refOf(object);
    if (object.kind === 'Namespace') return this.#createNamespace(object.metadata.name);
    const desired = wire(
      object.kind === 'UserSwarm' ? { ...object, spec: UserSwarmSpec.parse(object['spec']) } : object,
    );
    const existing = this.api.get(ref);
    const last = this.#lastByUsers.get(keyOf(ref));
    this.#lastByUsers.set(keyOf(ref), desired as unknown as Json);
    if (existing === undefined) this.api.create('user', desired);
    else
      this.api.update(
        'user',
        mergeApplied(
          'server-side',
          existing as unknown as Json,
          last,
          desired as unknown as Json,
        ) as unknown as KubernetesObject,
      );
  }

  async patch(ref: Ref, patch: JsonObject): Promise<void> {
    const existing = this.api.get(ref);
    if (existing === undefined) throw new Error(`nothing to patch: ${keyOf(ref)}`);
    this.api.update('user', mergePatch(existing as unknown as Json, patch) as unknown as KubernetesObject);
  }

  async delete(ref: Ref): Promise<void> {
    this.#lastByUsers.delete(keyOf(ref));
    this.api.delete('user', ref);
  }

  get = async (ref: Ref): Promise<KubernetesObject | undefined> => this.api.get(ref);

  list = async (kind: string, namespace: string): Promise<KubernetesObject[]> =>
    this.api.list(kind).filter(({ metadata }) => metadata.namespace === namespace);

  async waitFor(
    ref: Ref,
    what: string,
    holds: (object: KubernetesObject | undefined) => boolean,
    seconds = 120,
  ): Promise<void> {
    const deadline = this.#clock.elapsed() + seconds * 1_000;
    while (!holds(this.api.get(ref))) {
      if (this.#clock.elapsed() > deadline) {
        throw new Error(
          `${keyOf(ref)} after ${seconds} s: not ${what}, but ${JSON.stringify(this.api.get(ref)?.['status'])}`,
        );
      }
      await this.step();
    }
  }

  async pass(seconds: number): Promise<void> {
    const end = this.#clock.elapsed() + seconds * 1_000;
    while (this.#clock.elapsed() < end) await this.step();
  }

  async setHook(mode: HookFaultMode): Promise<void> {
    this.#mode = mode;
  }

  /** A new webhook receives requests at the next resync. */
  async release(which: 'first' | 'next'): Promise<void> {
    this.#release = which;
    await this.pass(this.resyncSeconds + 1);
  }

  writes = async (): Promise<number> => this.api.writes.filter(({ by }) => by === 'framework').length;

  /** Advances the time by 250 ms, runs the cluster, then all due syncs. */
  async step(): Promise<void> {
    this.#clock.advance(STEP_MS);
    this.#cluster.step();
    this.#deliverEvents();
    const now = this.#clock.elapsed();
    if (now - this.#resynced >= this.#options.resyncSeconds * 1_000) {
      this.#resynced = now;
      for (const { metadata } of this.api.list('UserSwarm')) this.#enqueue(metadata.name, now);
    }
    const due = [...this.#due].filter(([, at]) => at <= now);
    for (const [name] of due) {
      this.#due.delete(name);
      const { requeueAfter, failure } = await this.framework.sync(name);
      if (failure !== undefined) this.failures.push(failure);
      if (requeueAfter !== undefined) this.#enqueue(name, now + requeueAfter * 1_000);
    }
  }

  #createNamespace(name: string): void {
    if (this.api.get({ kind: 'Namespace', name }) !== undefined) return;
    const metadata = { name, finalizers: [NAMESPACE_FINALIZER] };
    this.api.create('user', { apiVersion: 'v1', kind: 'Namespace', metadata });
  }

  #call(hook: Hook, request: Parameters<Hook>[0]): Promise<unknown> {
    if (this.#mode === 'down') return Promise.reject(new Error('connect ECONNREFUSED'));
    if (this.#mode === 'error') return Promise.reject(new Error('status 500'));
    // The most dangerous malformed response: accepted as valid, it would delete all children.
    if (this.#mode === 'malformed') return Promise.resolve({ children: [], ok: true });
    return hook(request);
  }

  #written(object: KubernetesObject): void {
    const ref = refOf(object);
    const at = this.#clock.elapsed() + this.#options.cacheLagMs;
    this.#history.push({ at, key: keyOf(ref), object: this.api.get(ref), affected: this.#affectedBy(object) });
    if (this.#options.cacheLagMs === 0) this.#deliverEvents();
  }

  /** UserSwarms that an event on this object affects, by name. */
  #affectedBy(object: KubernetesObject): string[] {
    if (object.kind === 'UserSwarm') return [object.metadata.name];
    const builtin = this.#options.flavour === 'builtin';
    const swarms = this.api.list('UserSwarm');
    if (object.kind === 'Namespace' && builtin) return swarms.map(({ metadata }) => metadata.name);
    const owner = controllerOf(object);
    if (object.kind === 'Pod') {
      const instance = object.metadata.labels?.['app.kubernetes.io/instance'];
      return builtin && instance !== undefined ? [instance] : [];
    }
    const label = owner ?? object.metadata.labels?.[LABEL.controllerUid];
    return swarms.filter(({ metadata }) => metadata.uid === label).map(({ metadata }) => metadata.name);
  }

  #enqueue(name: string, at: number): void {
    this.#due.set(name, Math.min(at, this.#due.get(name) ?? Number.POSITIVE_INFINITY));
  }

  /** Delivers an event together with the cache update, never before it. */
  #deliverEvents(): void {
    while (this.#history[0] !== undefined && this.#history[0].at <= this.#clock.elapsed()) {
      const [{ at, key, object, affected }] = this.#history.splice(0, 1) as [Event];
      if (object === undefined) this.#seen.delete(key);
      else this.#seen.set(key, object);
      for (const name of affected) this.#enqueue(name, at);
    }
  }

  #cache(): CacheReader {
    return {
      get: (ref) => copyOf(this.#seen.get(keyOf(ref))),
      list: (kind) => wire([...this.#seen.values()].filter((object) => object.kind === kind)),
    };
  }
}

const copyOf = (object: KubernetesObject | undefined): KubernetesObject | undefined =>
  object === undefined ? undefined : wire(object);

const imageBehaviours = (): ReadonlyMap<string, ImageBehaviour> =>
  new Map([
    [MODEL_IMAGES.good, 'good'],
    [MODEL_IMAGES.other, 'good'],
    [MODEL_IMAGES.forbidden, 'good'],
    [MODEL_IMAGES.crashing, 'crashing'],
    [MODEL_IMAGES.hungry, 'hungry'],
  ]);
