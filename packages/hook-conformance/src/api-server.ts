import type { KubernetesObject } from '@uswarm/kube-types';
import { withServerDefaults } from './defaulting.js';
import { equal, type JsonObject, wire } from './json.js';
import { controllerOf, isTerminating, keyOf, type Ref, refOf } from './objects.js';
import { HAS_GENERATION, validationError } from './validation.js';

export type ApiFailure = 'AlreadyExists' | 'Conflict' | 'Forbidden' | 'Invalid' | 'NotFound';

/** Error response from an API server. */
export class ApiError extends Error {
  override name = 'ApiError';
  readonly reason: ApiFailure;

  constructor(reason: ApiFailure, message: string) {
    super(message);
    this.reason = reason;
  }
}

export interface Write {
  verb: 'create' | 'update' | 'status' | 'delete';
  by: string;
  key: string;
}

export type Listener = (object: KubernetesObject) => void;

/** An API server in memory. Counts every write, including writes that change nothing. */
export class ModelApiServer {
  readonly writes: Write[] = [];
  readonly #objects = new Map<string, KubernetesObject>();
  readonly #listeners: Listener[] = [];
  readonly #now: () => Date;
  #version = 0;

  constructor(now: () => Date) {
    this.#now = now;
  }

  /** Calls the listener after each write and deletion. */
  watch(listener: Listener): void {
    this.#listeners.push(listener);
  }

  get(ref: Ref): KubernetesObject | undefined {
    const found = this.#objects.get(keyOf(ref));
    return found === undefined ? undefined : wire(found);
  }

  list(kind: string): KubernetesObject[] {
    return wire([...this.#objects.values()].filter((object) => object.kind === kind));
  }

  /** @throws ApiError */
  create(by: string, object: KubernetesObject): KubernetesObject {
    this.#admit(object);
    const key = keyOf(refOf(object));
    this.writes.push({ verb: 'create', by, key });
    if (this.#objects.has(key)) throw new ApiError('AlreadyExists', `${key} already exists`);
    validate(object);
    this.#version += 1;
    const created = withServerDefaults(object);
    Object.assign(created.metadata, {
      uid: `uid-${this.#version}`,
      ...(HAS_GENERATION.has(created.kind) ? { generation: 1 } : {}),
      resourceVersion: `${this.#version}`,
      creationTimestamp: this.#time(),
    });
    if (created.kind === 'UserSwarm') delete created['status'];
    return this.#keep(created);
  }

  /** Updates all fields except the status. A change outside the metadata increases the generation. @throws ApiError */
  update(by: string, object: KubernetesObject): KubernetesObject {
    const before = this.#current(object);
    this.writes.push({ verb: 'update', by, key: keyOf(refOf(object)) });
    const after = withServerDefaults({
      ...object,
      ...(before['status'] === undefined ? {} : { status: before['status'] }),
    });
    if (before['status'] === undefined) delete after['status'];
    validate(after);
    if (after.kind === 'Deployment' && !equal(selectorOf(before), selectorOf(after))) {
      throw new ApiError('Invalid', `${keyOf(refOf(object))}: spec.selector: field is immutable`);
    }
    const { uid, creationTimestamp, deletionTimestamp, generation, resourceVersion } = before.metadata;
    Object.assign(after.metadata, { uid, creationTimestamp, resourceVersion });
    if (generation !== undefined) after.metadata.generation = generation;
    if (deletionTimestamp !== undefined) after.metadata.deletionTimestamp = deletionTimestamp;
    if (equal(before, after)) return after;
    if (generation !== undefined && !equal(contentOf(before), contentOf(after))) {
      after.metadata.generation = generation + 1;
    }
    return this.#settle(after);
  }

  /** @throws ApiError */
  updateStatus(by: string, ref: Ref, status: unknown): void {
    const before = this.get(ref);
    if (before === undefined) throw new ApiError('NotFound', `${keyOf(ref)} not found`);
    this.writes.push({ verb: 'status', by, key: keyOf(ref) });
    const after = { ...before, status: wire(status) };
    if (!equal(before, after)) this.#settle(after);
  }

  /** Deletes the object, or marks it as terminating while it has finalizers. @throws ApiError */
  delete(by: string, ref: Ref, options: { uid?: string; foreground?: boolean } = {}): void {
    const found = this.get(ref);
    if (found === undefined) throw new ApiError('NotFound', `${keyOf(ref)} not found`);
    if (options.uid !== undefined && found.metadata.uid !== options.uid) {
      throw new ApiError('Conflict', `${keyOf(ref)} has another uid`);
    }
    this.writes.push({ verb: 'delete', by, key: keyOf(ref) });
    found.metadata.deletionTimestamp ??= this.#time();
    if (options.foreground === true) {
      found.metadata.finalizers = [...new Set([...(found.metadata.finalizers ?? []), FOREGROUND])];
    }
    this.#settle(found);
  }

  /** The objects that `uid` controls. */
  ownedBy(uid: string | undefined): KubernetesObject[] {
    return wire([...this.#objects.values()].filter((object) => uid !== undefined && controllerOf(object) === uid));
  }

  #admit({ kind, metadata: { namespace } }: KubernetesObject): void {
    if (namespace === undefined) return;
    const found = this.#objects.get(keyOf({ kind: 'Namespace', name: namespace }));
    if (found === undefined) throw new ApiError('NotFound', `namespaces "${namespace}" not found`);
    if (isTerminating(found)) {
      throw new ApiError('Forbidden', `unable to create new ${kind} in ${namespace}, which is being terminated`);
    }
  }

  #current(object: KubernetesObject): KubernetesObject {
    const found = this.get(refOf(object));
    if (found === undefined) throw new ApiError('NotFound', `${keyOf(refOf(object))} not found`);
    const { uid } = object.metadata;
    if (uid !== undefined && uid !== found.metadata.uid) {
      throw new ApiError('Conflict', `${keyOf(refOf(object))} has another uid`);
    }
    return found;
  }

  #settle(object: KubernetesObject): KubernetesObject {
    this.#version += 1;
    object.metadata.resourceVersion = `${this.#version}`;
    if (isTerminating(object) && (object.metadata.finalizers ?? []).length === 0 && object.kind !== 'Pod') {
      this.#objects.delete(keyOf(refOf(object)));
      this.#notify(object);
      return object;
    }
    return this.#keep(object);
  }

  /** Deletes a terminated pod, as the kubelet does. */
  remove(ref: Ref): void {
    const found = this.#objects.get(keyOf(ref));
    this.#objects.delete(keyOf(ref));
    if (found !== undefined) this.#notify(found);
  }

  #keep(object: KubernetesObject): KubernetesObject {
    this.#objects.set(keyOf(refOf(object)), wire(object));
    this.#notify(object);
    return wire(object);
  }

  #notify(object: KubernetesObject): void {
    for (const listener of this.#listeners) listener(wire(object));
  }

  #time(): string {
    return `${this.#now().toISOString().slice(0, 19)}Z`;
  }
}

function validate(object: KubernetesObject): void {
  const why = validationError(object);
  if (why !== undefined) throw new ApiError('Invalid', `${keyOf(refOf(object))} is invalid: ${why}`);
}

/** Finalizer on objects whose dependents are deleted first. */
export const FOREGROUND = 'foregroundDeletion';

const selectorOf = (object: KubernetesObject): unknown => (object['spec'] as JsonObject | undefined)?.['selector'];

const contentOf = ({ metadata: _metadata, ...content }: KubernetesObject): object => content;
