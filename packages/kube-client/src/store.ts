import type { KubernetesObject } from '@uswarm/contract/userswarm';
import { isNewer } from './resource-version.js';

/** `before` alone was removed, `after` alone is new. */
export interface Change {
  before?: KubernetesObject;
  after?: KubernetesObject;
}

/**
 * The objects that one informer has seen, at their newest. What we write ourselves goes in at once
 * (`written`, `deleted`), so that nobody acts on something older; events that are older are dropped.
 */
export interface Store {
  get(key: string): KubernetesObject | undefined;
  list(): KubernetesObject[];
  /** Those for which `indexBy` gave this value. */
  indexed(value: string): KubernetesObject[];
  /** A watch told of it. */
  put(object: KubernetesObject): void;
  /** A watch told that it is gone. */
  remove(object: KubernetesObject): void;
  /** The whole list as of `resourceVersion`; `reset` if the server's history has begun anew. */
  replace(items: KubernetesObject[], resourceVersion: string, reset?: boolean): void;
  /**
   * We wrote it, and this came back, perhaps late; nobody is told of the change. One that is not
   * here although all of its time has been told is gone again.
   */
  written(object: KubernetesObject): void;
  /** We deleted it, and it is gone; later news of the same object is stale. */
  deleted(object: KubernetesObject): void;
  clear(): void;
}

export interface StoreOptions {
  indexBy?: (object: KubernetesObject) => string | undefined;
  /** `managedFields` are often half of an object, so they are left out unless somebody reads them. */
  keepManagedFields?: boolean;
  onChange?: (change: Change) => void;
}

export const keyOf = ({ metadata }: Pick<KubernetesObject, 'metadata'>): string =>
  metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`;

export function createStore(options: StoreOptions = {}): Store {
  const { indexBy = () => undefined, onChange = () => {}, keepManagedFields = false } = options;
  const kept = keepManagedFields ? (object: KubernetesObject) => object : withoutManagedFields;
  const objects = new Map<string, KubernetesObject>();
  const index = new Map<string, Set<string>>();
  /** What we deleted and have not yet been told of. */
  const gone = new Set<string>();
  /** The version up to which everything has been told. */
  let told: string | undefined;
  const tellUpTo = (version: string | undefined): void => {
    if (isNewer(version, told)) told = version;
  };

  const set = (key: string, after: KubernetesObject | undefined, tell: boolean): void => {
    const before = objects.get(key);
    if (before !== undefined) removeIndex(index, indexBy(before), key);
    if (after === undefined) objects.delete(key);
    else {
      objects.set(key, after);
      addIndex(index, indexBy(after), key);
    }
    if (tell && before !== after) {
      onChange({ ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) });
    }
  };
  const put = (object: KubernetesObject, tell: boolean): void => {
    if (object.metadata.uid !== undefined && gone.has(object.metadata.uid)) return;
    const key = keyOf(object);
    const known = objects.get(key);
    if (known === undefined || isNewer(object.metadata.resourceVersion, known.metadata.resourceVersion)) {
      set(key, kept(object), tell);
    }
  };
  const removeAll = (filter: (object: KubernetesObject, key: string) => boolean): void => {
    for (const [key, object] of objects) if (filter(object, key)) set(key, undefined, true);
  };

  return {
    get: (key) => objects.get(key),
    list: () => [...objects.values()],
    indexed: (value) => [...(index.get(value) ?? [])].flatMap((key) => objects.get(key) ?? []),
    put(object) {
      tellUpTo(object.metadata.resourceVersion);
      put(object, true);
    },
    remove(object) {
      tellUpTo(object.metadata.resourceVersion);
      gone.delete(object.metadata.uid ?? '');
      const key = keyOf(object);
      const known = objects.get(key);
      if (known !== undefined && !isNewer(known.metadata.resourceVersion, object.metadata.resourceVersion)) {
        set(key, undefined, true);
      }
    },
    replace(items, resourceVersion, reset = false) {
      told = resourceVersion;
      if (reset) gone.clear();
      const listed = new Set(items.map(keyOf));
      const uids = new Set(items.map(({ metadata }) => metadata.uid));
      for (const uid of gone) if (!uids.has(uid)) gone.delete(uid);
      // What is newer than the list was written by us while it was on its way.
      removeAll(
        (object, key) => !listed.has(key) && (reset || !isNewer(object.metadata.resourceVersion, resourceVersion)),
      );
      for (const item of items) {
        if (reset) set(keyOf(item), kept(item), true);
        else put(item, true);
      }
    },
    written(object) {
      if (objects.has(keyOf(object)) || isNewer(object.metadata.resourceVersion, told)) put(object, false);
    },
    deleted({ metadata }) {
      const key = keyOf({ metadata });
      if (objects.get(key)?.metadata.uid !== metadata.uid) return;
      if (metadata.uid !== undefined) gone.add(metadata.uid);
      set(key, undefined, false);
    },
    clear() {
      gone.clear();
      removeAll(() => true);
    },
  };
}

function withoutManagedFields(object: KubernetesObject): KubernetesObject {
  const { managedFields: _unused, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function addIndex(index: Map<string, Set<string>>, value: string | undefined, key: string): void {
  if (value === undefined) return;
  const keys = index.get(value) ?? new Set();
  index.set(value, keys.add(key));
}

function removeIndex(index: Map<string, Set<string>>, value: string | undefined, key: string): void {
  if (value === undefined) return;
  const keys = index.get(value);
  keys?.delete(key);
  if (keys?.size === 0) index.delete(value);
}
