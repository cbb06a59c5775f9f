import type { KubernetesObject } from '@uswarm/contract/userswarm';
import type { JsonObject } from './json.js';
import type { Ref } from './objects.js';

/** What not every world can do; a scenario names what it needs. */
export type Capability =
  /** Pods run, fail and stop; Secrets, quotas and nodes matter to them. */
  | 'pods'
  /** The hook is told of pods and namespaces, and reasons are fine-grained. */
  | 'reasons'
  /** Namespaces can be made and deleted. */
  | 'namespaces'
  /** The hook can be made to fail. */
  | 'hook faults'
  /** Writes at rest can be counted. */
  | 'counting'
  /** The hook can be replaced by that of another release, which holds back what runs. */
  | 'releases'
  /** What the request says of the start of a runtime can be chosen. */
  | 'starts';

export type HookFaultMode = 'down' | 'error' | 'rubbish' | 'none';

/** A cluster with the framework and the hook under test in it; a model, or a real one behind a driver. */
export interface World {
  readonly capabilities: ReadonlySet<Capability>;
  /** Exists, and runtimes may run there. */
  readonly namespace: string;
  /** Runtimes may run there; does not exist yet. */
  readonly spareNamespace: string;
  /** Seconds between two regular looks at a UserSwarm at which nothing happens. */
  readonly resyncSeconds: number;
  readonly images: Readonly<Record<'good' | 'other' | 'missing' | 'crashing' | 'hungry' | 'forbidden', string>>;
  /** Creates it or, by its owner's field set, changes it: server-side apply. */
  apply(object: KubernetesObject): Promise<void>;
  /** A merge patch, as somebody who is in the way would send it. */
  patch(ref: Ref, patch: JsonObject): Promise<void>;
  /** Asks for deletion and does not wait for it. */
  delete(ref: Ref): Promise<void>;
  get(ref: Ref): Promise<KubernetesObject | undefined>;
  list(kind: string, namespace: string): Promise<KubernetesObject[]>;
  /** Waits until `holds`, for at most so many seconds. @throws with `what` and what was there instead. */
  waitFor(
    ref: Ref,
    what: string,
    holds: (object: KubernetesObject | undefined) => boolean,
    seconds?: number,
  ): Promise<void>;
  /** Lets time pass: a resync at least. */
  pass(seconds: number): Promise<void>;
  setHook(mode: HookFaultMode): Promise<void>;
  /** With `releases`: from now on the hook is that of the next release, or again that of the first. */
  release?(which: 'first' | 'next'): Promise<void>;
  /** Writes of the framework since the start. */
  writes(): Promise<number>;
}
