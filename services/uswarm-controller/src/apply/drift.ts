import { CONTROLLER_MANAGER } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-client';
import { canonical, isObject } from '../canonical.js';
import { differences } from './contest.js';
import { APPLIED_ANNOTATION } from './desired.js';
import { hasForeignFields } from '../caches/prune-foreign-fields.js';

/** The fields that we wrote as the server stored them: it normalizes quantities and times. */
export interface AppliedView {
  uid: string;
  view: string;
  /** Hash of the desired content, to tell our own changes from other clients'. */
  hash: string | undefined;
  /** The object in the cache that was compared with this view last, and is equal to it. */
  compared: WeakRef<KubernetesObject> | undefined;
}

/** The view to remember after each write, from the server's response. */
export const viewAfter = (desired: KubernetesObject, stored: KubernetesObject): AppliedView => ({
  uid: stored.metadata.uid ?? '',
  view: viewOf(stored, desired),
  hash: desired.metadata.annotations?.[APPLIED_ANNOTATION],
  compared: undefined,
});

/**
 * The fields that differ from our last write, joined to one string. Undefined if the desired content has changed since,
 * or the child has not been written yet.
 */
export function changedByOthers(
  desired: KubernetesObject,
  observed: KubernetesObject,
  applied: AppliedView | undefined,
): string | undefined {
  const desiredHash = desired.metadata.annotations?.[APPLIED_ANNOTATION];
  if (applied === undefined || applied.uid !== observed.metadata.uid || applied.hash !== desiredHash) return undefined;
  return differences(JSON.parse(applied.view), JSON.parse(viewOf(observed, desired)));
}

/**
 * Whether a child has to be written: the desired content has changed, or another client changed its spec or a field
 * that we set. Fields that others add to its metadata are ignored.
 *
 * @param applied the result of `viewAfter` for our last write; undefined after a restart
 */
export function needsWrite(
  desired: KubernetesObject,
  observed: KubernetesObject,
  applied: AppliedView | undefined,
): boolean {
  const desiredHash = desired.metadata.annotations?.[APPLIED_ANNOTATION];
  if (observed.metadata.annotations?.[APPLIED_ANNOTATION] !== desiredHash) return true;
  if (applied !== undefined && applied.uid === observed.metadata.uid) return differsFrom(applied, observed, desired);
  return !covers(observed, desired) || hasForeignFields(observed, desired, CONTROLLER_MANAGER);
}

/**
 * Objects in the cache never change, so an object is compared once: most children do not change between two resyncs. Compares
 * identities and not versions, because versions repeat after the API server is restored from a backup.
 */
function differsFrom(applied: AppliedView, observed: KubernetesObject, desired: KubernetesObject): boolean {
  const isSameContent = applied.hash === desired.metadata.annotations?.[APPLIED_ANNOTATION];
  if (isSameContent && applied.compared?.deref() === observed) return false;
  if (viewOf(observed, desired) !== applied.view) return true;
  if (isSameContent) applied.compared = new WeakRef(observed);
  return false;
}

interface PodTemplate {
  metadata?: { annotations?: object };
}

/** The fields that we set, and the whole spec, which the controller owns exclusively. */
function viewOf(stored: KubernetesObject, desired: KubernetesObject): string {
  const { template, ...spec } = (stored['spec'] ?? {}) as { template?: PodTemplate };
  const desiredSpec = desired['spec'] as { template?: PodTemplate } | undefined;
  // `kubectl rollout restart` adds an annotation to the pod template.
  const annotations = project(
    template?.metadata?.annotations ?? {},
    desiredSpec?.template?.metadata?.annotations ?? {},
  );
  const pods = { ...template, metadata: { ...template?.metadata, annotations } };
  return canonical({ ...(project(stored, desired) as object), spec: { ...spec, template: pods } });
}

/** The part of `value` at the paths of `shape`; for a list also its length. */
function project(value: unknown, shape: unknown): unknown {
  if (Array.isArray(shape) && Array.isArray(value)) return value.map((item, at) => project(item, shape[at] ?? null));
  if (!isObject(shape) || !isObject(value)) return shape === null ? null : value;
  return Object.fromEntries(Object.keys(shape).map((name) => [name, project(value[name], shape[name])]));
}

/** True if `value` contains all of `shape` with equal values. */
function covers(value: unknown, shape: unknown): boolean {
  if (Array.isArray(shape)) {
    return Array.isArray(value) && value.length === shape.length && shape.every((item, at) => covers(value[at], item));
  }
  if (!isObject(shape)) return value === shape;
  return isObject(value) && Object.keys(shape).every((name) => covers(value[name], shape[name]));
}
