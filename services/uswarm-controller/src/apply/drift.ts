import type { KubernetesObject } from '@uswarm/contract/userswarm';
import { canonical } from '../canonical.js';
import { differences } from './contest.js';
import { APPLIED_ANNOTATION } from './desired.js';

/** What the server made of the fields that we wrote: quantities and times may read otherwise. */
export interface AppliedView {
  uid: string;
  view: string;
  /** Of what was wanted, to tell our own changes from those of others. */
  hash: string | undefined;
}

/** To be remembered after each write of a child, from what the server answered. */
export const viewAfter = (desired: KubernetesObject, stored: KubernetesObject): AppliedView => ({
  uid: stored.metadata.uid ?? '',
  view: viewOf(stored, desired),
  hash: desired.metadata.annotations?.[APPLIED_ANNOTATION],
});

/**
 * The fields in which a child is not as our last write left it, as one text; undefined if something else is wanted by
 * now, or we have not written it yet.
 */
export function changedByOthers(
  desired: KubernetesObject,
  observed: KubernetesObject,
  applied: AppliedView | undefined,
): string | undefined {
  const wanted = desired.metadata.annotations?.[APPLIED_ANNOTATION];
  if (applied === undefined || applied.uid !== observed.metadata.uid || applied.hash !== wanted) return undefined;
  return differences(JSON.parse(applied.view), JSON.parse(viewOf(observed, desired)));
}

/**
 * Whether a child has to be written: something else is wanted than was applied last, or somebody
 * changed its spec or a field that we set, be it in its metadata alone. What others add to its metadata
 * is not looked at; nor, until we have written it once, what they add to its spec.
 *
 * @param applied what `viewAfter` said after our last write; undefined after a restart.
 */
export function needsWrite(
  desired: KubernetesObject,
  observed: KubernetesObject,
  applied: AppliedView | undefined,
): boolean {
  const wanted = desired.metadata.annotations?.[APPLIED_ANNOTATION];
  if (observed.metadata.annotations?.[APPLIED_ANNOTATION] !== wanted) return true;
  if (applied?.uid === observed.metadata.uid) return viewOf(observed, desired) !== applied?.view;
  return !covers(observed, desired);
}

interface PodTemplate {
  metadata?: { annotations?: object };
}

/** What we set, and the whole spec: there, nobody else has anything to say. */
function viewOf(stored: KubernetesObject, desired: KubernetesObject): string {
  const { template, ...spec } = (stored['spec'] ?? {}) as { template?: PodTemplate };
  const wanted = desired['spec'] as { template?: PodTemplate } | undefined;
  // Somebody restarts a pod by an annotation of it, the first one perhaps.
  const annotations = project(template?.metadata?.annotations ?? {}, wanted?.template?.metadata?.annotations ?? {});
  const pods = { ...template, metadata: { ...template?.metadata, annotations } };
  return canonical({ ...(project(stored, desired) as object), spec: { ...spec, template: pods } });
}

/** The part of `value` at the paths that `shape` has; of a list also how long it is. */
function project(value: unknown, shape: unknown): unknown {
  if (Array.isArray(shape) && Array.isArray(value)) return value.map((item, at) => project(item, shape[at] ?? null));
  if (!isObject(shape) || !isObject(value)) return shape === null ? null : value;
  return Object.fromEntries(Object.keys(shape).map((name) => [name, project(value[name], shape[name])]));
}

/** Whether `value` has everything that `shape` has, as it is there. */
function covers(value: unknown, shape: unknown): boolean {
  if (Array.isArray(shape)) {
    return Array.isArray(value) && value.length === shape.length && shape.every((item, at) => covers(value[at], item));
  }
  if (!isObject(shape)) return value === shape;
  return isObject(value) && Object.keys(shape).every((name) => covers(value[name], shape[name]));
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
