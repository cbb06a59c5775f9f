import type { KubernetesObject, ManagedFields } from '@uswarm/kube-client';
import { isObject, sameContent } from '../canonical.js';

export type PatchOperation = { op: 'add'; path: string; value: unknown } | { op: 'remove'; path: string };

/** Annotations of the pod template are shared: `kubectl rollout restart` sets one. */
const FREE = ['spec', 'template', 'metadata', 'annotations'];

/** The entries of other managers with fields of the spec. Usually there are none. */
export const foreignManagers = ({ metadata }: KubernetesObject, fieldManager: string): ManagedFields[] =>
  (metadata.managedFields ?? []).filter(
    ({ manager, subresource = '', fieldsV1 = {} }) =>
      manager !== fieldManager && subresource === '' && 'f:spec' in fieldsV1,
  );

/**
 * Whether other managers have added fields to the spec that we do not set. The owner of a map that is atomic, such as the selector of
 * a Service, owns the whole map.
 */
export function hasForeignFields(stored: KubernetesObject, desired: KubernetesObject, fieldManager: string): boolean {
  return foreignPaths(stored, fieldManager).some((keys) => {
    const [is, should] = [at(stored, keys), at(desired, keys)];
    return isForeign(keys, is, should) || (isObject(should) && !sameContent(is, should));
  });
}

/**
 * JSON patch operations that remove fields of other managers from the spec, which an apply leaves alone: a field that
 * we do not set is removed, and a list that we set is replaced as a whole.
 */
export function pruneForeignFields(
  stored: KubernetesObject,
  desired: KubernetesObject,
  fieldManager: string,
): PatchOperation[] {
  const unique = new Map(foreignPaths(stored, fieldManager).map((path) => [pointer(path), path]));
  return [...unique].flatMap(([path, keys]): PatchOperation[] => {
    const desiredValue = at(desired, keys);
    if (Array.isArray(desiredValue)) return [{ op: 'add', path, value: desiredValue }];
    // A forced apply takes over the fields that we set as well.
    return isForeign(keys, at(stored, keys), desiredValue) ? [{ op: 'remove', path }] : [];
  });
}

const isForeign = (keys: readonly string[], stored: unknown, desired: unknown): boolean =>
  desired === undefined && stored !== undefined && !FREE.every((key, index) => keys[index] === key);

/** Paths of the fields of the spec that other managers own. */
function foreignPaths(stored: KubernetesObject, fieldManager: string): string[][] {
  return foreignManagers(stored, fieldManager).flatMap(({ fieldsV1 }) => {
    const spec = (fieldsV1 as { 'f:spec'?: object } | undefined)?.['f:spec'];
    return spec === undefined ? [] : ownedPaths(spec, ['spec']);
  });
}

/** Paths of the owned leaf fields. A path ends at a list, whichever of its items are owned. */
function ownedPaths(fields: object, path: string[]): string[][] {
  const below = Object.entries(fields).filter(([key]) => key !== '.');
  if (below.length === 0 || !below.every(([key]) => key.startsWith('f:'))) return [path];
  return below.flatMap(([key, owned]) => ownedPaths(owned as object, [...path, key.slice('f:'.length)]));
}

function at(value: unknown, path: readonly string[]): unknown {
  let here = value;
  for (const key of path) here = (here as Record<string, unknown> | undefined)?.[key];
  return here;
}

const pointer = (path: readonly string[]): string =>
  path.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
