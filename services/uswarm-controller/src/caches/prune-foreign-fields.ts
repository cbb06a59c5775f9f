import type { KubernetesObject, ManagedFields } from '@uswarm/kube-client';
import { isObject, sameContent } from '../canonical.js';

export type PatchOperation = { op: 'add'; path: string; value: unknown } | { op: 'remove'; path: string };

/** Pod template annotations are shared: `kubectl rollout restart` sets one. */
const FREE = ['spec', 'template', 'metadata', 'annotations'];

/** Other managers' entries with spec fields. Usually there are none. */
export const foreignManagers = ({ metadata }: KubernetesObject, fieldManager: string): ManagedFields[] =>
  (metadata.managedFields ?? []).filter(
    ({ manager, subresource = '', fieldsV1 = {} }) =>
      manager !== fieldManager && subresource === '' && 'f:spec' in fieldsV1,
  );

/** True if other managers own spec fields that differ from the desired ones, or that we do not set. */
export const hasForeignFields = (stored: KubernetesObject, desired: KubernetesObject, fieldManager: string): boolean =>
  pruneForeignFields(stored, desired, fieldManager).length > 0;

/**
 * JSON patch operations that revert other managers' spec fields, which an apply leaves alone or cannot change alone:
 * `externalName` is invalid with our `type`, and the API server sets the defaults of a foreign `type`.
 */
export function pruneForeignFields(
  stored: KubernetesObject,
  desired: KubernetesObject,
  fieldManager: string,
): PatchOperation[] {
  const specs = foreignManagers(stored, fieldManager).map(
    ({ fieldsV1 }) => (fieldsV1 as { 'f:spec': object })['f:spec'],
  );
  return specs.length === 0 ? [] : revert(specs.reduce(union), ['spec'], stored['spec'], desired['spec']);
}

/** Merges two field sets (nested objects of `fieldsV1`). */
export function union(left: object, right: object): object {
  const merged: Record<string, object> = { ...left };
  for (const [name, below] of Object.entries(right) as [string, object][]) {
    merged[name] = union(merged[name] ?? {}, below);
  }
  return merged;
}

/** The operations that make the fields in `owned`, a part of `fieldsV1`, equal to the desired ones. */
function revert(owned: object, path: readonly string[], stored: unknown, desired: unknown): PatchOperation[] {
  // A parent of the annotations is not removed or replaced as a whole.
  const isAbove = path.every((key, index) => key === FREE[index]);
  if (stored === undefined || (isAbove && path.length === FREE.length)) return [];
  if (desired === undefined && !isAbove) return [{ op: 'remove', path: pointer(path) }];
  const below = fieldsOf(owned);
  const set: PatchOperation[] = [{ op: 'add', path: pointer(path), value: desired }];
  if (below.length === 0) return isAbove || sameContent(stored, desired) ? [] : set;
  if (Array.isArray(desired)) return hasForeignItems(below, path, stored, desired) ? set : [];
  return below.flatMap(([key, fields]) => {
    const name = key.slice('f:'.length);
    return revert(fields, [...path, name], memberOf(stored, name), memberOf(desired, name));
  });
}

/** True if list items, or fields in items, differ from the desired ones. */
function hasForeignItems(
  owned: [string, object][],
  path: readonly string[],
  stored: unknown,
  desired: readonly unknown[],
): boolean {
  return owned.some(([key, fields]) => {
    const shouldBe = itemOf(desired, key);
    if (shouldBe === undefined) return true;
    const is = itemOf(Array.isArray(stored) ? stored : [], key);
    return fieldsOf(fields).some(([field, below]) => {
      const name = field.slice('f:'.length);
      return revert(below, [...path, key, name], memberOf(is, name), memberOf(shouldBe, name)).length > 0;
    });
  });
}

/** The item with a key of `fieldsV1`: `k:` and its key fields, `v:` and its value, or `i:` and its index. */
function itemOf(list: readonly unknown[], key: string): unknown {
  const value: unknown = JSON.parse(key.slice('k:'.length));
  if (key.startsWith('i:')) return list[value as number];
  if (!key.startsWith('k:')) return list.find((item) => sameContent(item, value));
  // A key field that an item omits has its default.
  return list.find((item) =>
    Object.entries(value as object).every(([name, is]) => (memberOf(item, name) ?? is) === is),
  );
}

const fieldsOf = (owned: object): [string, object][] => Object.entries(owned).filter(([key]) => key !== '.');

const memberOf = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined);

const pointer = (path: readonly string[]): string =>
  path.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
