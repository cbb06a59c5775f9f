import { isObject, type Json, type JsonObject } from './json.js';

/** Returns the fields that identify list items, or undefined if the list is atomic. */
type ListKey = (path: string, items: readonly JsonObject[]) => readonly string[] | undefined;

export type ApplyStrategy = 'server-side' | 'three-way';

/** Metacontroller's merge: the first of these fields that all items have is the list key. */
const THREE_WAY_KEYS = ['containerPort', 'port', 'mountPath', 'name', 'uid', 'ip', 'path'];
const threeWayKey: ListKey = (_path, items) => {
  const key = THREE_WAY_KEYS.find((field) => items.every((item) => item[field] !== undefined));
  return items.length > 0 && key !== undefined ? [key] : undefined;
};

/** The list-map keys of the applied kinds, from the API schema. All other lists are atomic. */
const SERVER_SIDE_KEYS: readonly [RegExp, readonly string[]][] = [
  [/\.metadata\.ownerReferences$/, ['uid']],
  [/\.containers\.ports$/, ['containerPort', 'protocol']],
  [/^\.spec\.ports$/, ['port', 'protocol']],
  [/\.volumeMounts$/, ['mountPath']],
  [/\.(containers|env|volumes|imagePullSecrets)$/, ['name']],
];
const serverSideKey: ListKey = (path) => SERVER_SIDE_KEYS.find(([pattern]) => pattern.test(path))?.[1];
/** Maps with `x-kubernetes-map-type: atomic`. */
const ATOMIC_MAPS = /\.(selector|nodeSelector)$/;

/**
 * Applies `desired` to `observed` after `last` was applied: deletes fields that are only in `last` and keeps fields
 * with other owners.
 */
export function mergeApplied(strategy: ApplyStrategy, observed: Json, last: Json | undefined, desired: Json): Json {
  return strategy === 'three-way'
    ? merge(threeWayKey, undefined, '', observed, last, desired)
    : merge(serverSideKey, ATOMIC_MAPS, '', observed, last, desired);
}

function merge(
  listKey: ListKey,
  atomic: RegExp | undefined,
  path: string,
  observed: Json | undefined,
  last: Json | undefined,
  desired: Json,
): Json {
  const inner = (field: string, ...values: [Json | undefined, Json | undefined, Json]): Json =>
    merge(listKey, atomic, `${path}${field}`, ...values);

  if (isObject(desired) && atomic?.test(path) !== true) {
    const result: JsonObject = isObject(observed) ? { ...observed } : {};
    for (const key of Object.keys(isObject(last) ? last : {})) if (!(key in desired)) delete result[key];
    for (const [key, value] of Object.entries(desired)) {
      result[key] = inner(`.${key}`, result[key], isObject(last) ? last[key] : undefined, value);
    }
    return result;
  }
  if (!Array.isArray(desired)) return desired;
  const lists = [observed, last, desired].map((list) => (Array.isArray(list) ? list : []));
  const items = lists.flat();
  const keys = items.every(isObject) ? listKey(path, items) : undefined;
  if (keys === undefined) return desired;
  const identity = (item: Json): string => keys.map((key) => String((item as JsonObject)[key])).join('/');
  const [was = [], lately = []] = lists;
  const wanted = new Map(desired.map((item) => [identity(item), item]));
  const before = new Map(lately.map((item) => [identity(item), item]));
  const kept = was.filter((item) => wanted.has(identity(item)) || !before.has(identity(item)));
  const added = desired.filter((item) => !was.some((old) => identity(old) === identity(item)));
  return [...kept, ...added].map((item) => {
    const want = wanted.get(identity(item));
    return want === undefined ? item : inner('', item, before.get(identity(item)), want);
  });
}
