import type { KubernetesObject } from '@uswarm/kube-types';
import type { JsonObject } from './json.js';
import type { Ref } from './objects.js';

/** Optional abilities of a world. A scenario lists its own needs. */
export type Capability =
  /** Pods run, fail and stop, depending on Secrets, quotas and nodes. */
  | 'pods'
  /** Requests contain pods and namespaces, so reasons are fine-grained. */
  | 'reasons'
  /** Namespaces can be created and deleted. */
  | 'namespaces'
  /** Hook faults can be injected. */
  | 'hook faults'
  /** Controller writes can be counted. */
  | 'counting'
  /** The hook can be replaced by the next release, which holds back running pods. */
  | 'releases'
  /** The test decides whether runtimes may start. */
  | 'starts';

export type HookFaultMode = 'down' | 'error' | 'malformed' | 'none';

/** A cluster with a controller and the hook under test: a model, or a real cluster behind a driver. */
export interface World {
  readonly capabilities: ReadonlySet<Capability>;
  /** An existing namespace for runtimes. */
  readonly namespace: string;
  /** A namespace for runtimes that does not exist yet. */
  readonly spareNamespace: string;
  /** Seconds between two resyncs if nothing changes. */
  readonly resyncSeconds: number;
  readonly images: Readonly<Record<'good' | 'other' | 'missing' | 'crashing' | 'hungry' | 'forbidden', string>>;
  /** Server-side apply: creates the object, or changes fields with the same owner. */
  apply(object: KubernetesObject): Promise<void>;
  /** A merge patch of another client. */
  patch(ref: Ref, patch: JsonObject): Promise<void>;
  /** Requests the deletion; does not wait for it. */
  delete(ref: Ref): Promise<void>;
  get(ref: Ref): Promise<KubernetesObject | undefined>;
  list(kind: string, namespace: string): Promise<KubernetesObject[]>;
  /** Waits up to `seconds` until `holds` returns true. @throws Error with `what` and the last status on timeout */
  waitFor(
    ref: Ref,
    what: string,
    holds: (object: KubernetesObject | undefined) => boolean,
    seconds?: number,
  ): Promise<void>;
  /** Lets time pass, at least until the next resync. */
  pass(seconds: number): Promise<void>;
  setHook(mode: HookFaultMode): Promise<void>;
  /** Selects the hook's release; requires the capability `releases`. */
  release?(which: 'first' | 'next'): Promise<void>;
  /** Number of controller writes so far. */
  writes(): Promise<number>;
}
