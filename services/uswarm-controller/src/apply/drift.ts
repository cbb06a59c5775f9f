import type { KubernetesObject } from '@uswarm/contract/userswarm';
import { canonical } from '../canonical.js';
import { APPLIED_ANNOTATION } from './desired.js';

/** What the server made of the fields that we wrote: quantities and times may read otherwise. */
export interface AppliedView {
  uid: string;
  view: string;
}

/** To be remembered after each write of a child, from what the server answered. */
export const viewAfter = (desired: KubernetesObject, stored: KubernetesObject): AppliedView => ({
  uid: stored.metadata.uid ?? '',
  view: canonical(project(stored, desired)),
});

/**
 * Whether a child has to be written: something else is wanted than was applied last, or somebody
 * changed a field that we set, be it in its metadata alone. Fields that we do not set are not looked at.
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
  if (applied?.uid === observed.metadata.uid) return canonical(project(observed, desired)) !== applied?.view;
  return !covers(observed, desired);
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

/** Whether there is more in a list than we set: what others put there, an apply leaves alone. */
export function hasStrangers(value: unknown, shape: unknown): boolean {
  if (Array.isArray(shape)) {
    if (!Array.isArray(value)) return false;
    return value.length > shape.length || shape.some((item, at) => hasStrangers(value[at], item));
  }
  return (
    isObject(shape) && isObject(value) && Object.keys(shape).some((name) => hasStrangers(value[name], shape[name]))
  );
}

/** JSON patch operations that make every list that we set whole again, where something in it is not as we set it. */
export function listRepairs(value: unknown, shape: unknown, path = ''): { op: 'add'; path: string; value: unknown }[] {
  if (Array.isArray(shape)) return covers(value, shape) ? [] : [{ op: 'add', path, value: shape }];
  if (!isObject(shape) || !isObject(value)) return [];
  return Object.keys(shape).flatMap((name) => {
    const escaped = name.replaceAll('~', '~0').replaceAll('/', '~1');
    return listRepairs(value[name], shape[name], `${path}/${escaped}`);
  });
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
