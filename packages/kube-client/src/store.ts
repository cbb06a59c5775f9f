import type { KubernetesObject } from '@uswarm/kube-types';
import { isNewer } from './resource-version.js';

/** A change: only `before` means deleted, only `after` means added. */
export interface Change {
  before?: KubernetesObject;
  after?: KubernetesObject;
}

/**
 * The cache of one informer. Our own writes are stored immediately (`written`, `deleted`), so that no caller reads an
 * older version; older watch events are dropped.
 */
export interface Store {
  get(key: string): KubernetesObject | undefined;
  list(): KubernetesObject[];
  /** The objects for which `indexBy` returned this value. */
  indexed(value: string): KubernetesObject[];
  /** Stores an object from a watch event. */
  put(object: KubernetesObject): void;
  /** Removes an object that a watch event reported as deleted. */
  remove(object: KubernetesObject): void;
  /** Replaces the contents with a list as of `resourceVersion`; `reset` if the server's history was reset. */
  replace(items: KubernetesObject[], resourceVersion: string, reset?: boolean): void;
  /**
   * Stores the response to our own write, without a notification. If the object is missing although the cache is newer
   * than the response, it was deleted in the meantime.
   */
  written(object: KubernetesObject): void;
  /**
   * Sends our own write and stores its response, as `written`. The write's watch event, which can arrive before the
   * response, causes no notification. Notifications about other changes to the object wait for the response.
   *
   * @throws the request's error
   */
  write(key: string, send: () => Promise<KubernetesObject>): Promise<KubernetesObject>;
  /** Removes an object that we deleted. Later events about it are stale. */
  deleted(object: KubernetesObject): void;
  clear(): void;
}

export interface StoreOptions {
  indexBy?: (object: KubernetesObject) => string | undefined;
  /** Keeps `managedFields`, which are often half of an object. Default: false */
  keepManagedFields?: boolean;
  /** Removes fields that no reader needs, to save memory. It must keep the metadata. */
  reduce?: (object: KubernetesObject) => KubernetesObject;
  onChange?: (change: Change) => void;
}

/** Own writes of one object in flight, and its changes without a notification so far. */
interface InFlight {
  writes: number;
  ownVersions: Set<string | undefined>;
  changes: Change[];
}

export const keyOf = ({ metadata }: Pick<KubernetesObject, 'metadata'>): string =>
  metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`;

export function createStore(options: StoreOptions = {}): Store {
  const { indexBy = () => undefined, onChange = () => {}, keepManagedFields = false, reduce = same } = options;
  const strip = (object: KubernetesObject): KubernetesObject =>
    reduce(keepManagedFields ? object : withoutManagedFields(object));
  const objects = new Map<string, KubernetesObject>();
  const index = new Map<string, Set<string>>();
  /** Objects that we deleted and whose watch event is pending. */
  const deletedUids = new Set<string>();
  const inFlight = new Map<string, InFlight>();
  /** The version up to which the cache is complete. */
  let completeTo: string | undefined;
  const advanceTo = (version: string | undefined): void => {
    if (isNewer(version, completeTo)) completeTo = version;
  };

  const set = (key: string, after: KubernetesObject | undefined, notify: boolean): void => {
    const before = objects.get(key);
    if (before !== undefined) removeIndex(index, indexBy(before), key);
    if (after === undefined) objects.delete(key);
    else {
      objects.set(key, after);
      addIndex(index, indexBy(after), key);
    }
    if (!notify || before === after) return;
    const change = { ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) };
    const writing = inFlight.get(key);
    if (writing === undefined) onChange(change);
    else writing.changes.push(change);
  };
  const put = (object: KubernetesObject, notify: boolean): void => {
    if (object.metadata.uid !== undefined && deletedUids.has(object.metadata.uid)) return;
    const key = keyOf(object);
    const known = objects.get(key);
    if (known === undefined || isNewer(object.metadata.resourceVersion, known.metadata.resourceVersion)) {
      set(key, strip(object), notify);
    }
  };
  const removeAll = (filter: (object: KubernetesObject, key: string) => boolean): void => {
    for (const [key, object] of objects) if (filter(object, key)) set(key, undefined, true);
  };

  const written = (object: KubernetesObject): void => {
    if (objects.has(keyOf(object)) || isNewer(object.metadata.resourceVersion, completeTo)) put(object, false);
  };

  /** Notifies about changes that were not our own writes. */
  const notifyOfOthers = (key: string, { changes, ownVersions }: InFlight): void => {
    inFlight.delete(key);
    const others = changes.filter(
      ({ after }) => after === undefined || !ownVersions.has(after.metadata.resourceVersion),
    );
    for (const change of others) onChange(change);
  };

  return {
    get: (key) => objects.get(key),
    list: () => [...objects.values()],
    indexed: (value) => [...(index.get(value) ?? [])].flatMap((key) => objects.get(key) ?? []),
    put(object) {
      advanceTo(object.metadata.resourceVersion);
      put(object, true);
    },
    remove(object) {
      advanceTo(object.metadata.resourceVersion);
      deletedUids.delete(object.metadata.uid ?? '');
      const key = keyOf(object);
      const known = objects.get(key);
      if (known !== undefined && !isNewer(known.metadata.resourceVersion, object.metadata.resourceVersion)) {
        set(key, undefined, true);
      }
    },
    replace(items, resourceVersion, reset = false) {
      completeTo = resourceVersion;
      if (reset) deletedUids.clear();
      const listed = new Set(items.map(keyOf));
      const uids = new Set(items.map(({ metadata }) => metadata.uid));
      for (const uid of deletedUids) if (!uids.has(uid)) deletedUids.delete(uid);
      // Objects that are newer than the list come from our own writes during the request.
      removeAll(
        (object, key) => !listed.has(key) && (reset || !isNewer(object.metadata.resourceVersion, resourceVersion)),
      );
      for (const item of items) {
        if (reset) set(keyOf(item), strip(item), true);
        else put(item, true);
      }
    },
    written,
    async write(key, send) {
      const writing = inFlight.get(key) ?? { writes: 0, ownVersions: new Set<string>(), changes: [] };
      inFlight.set(key, writing);
      writing.writes += 1;
      try {
        const object = await send();
        writing.ownVersions.add(object.metadata.resourceVersion);
        written(object);
        return object;
      } finally {
        writing.writes -= 1;
        if (writing.writes === 0) notifyOfOthers(key, writing);
      }
    },
    deleted({ metadata }) {
      const key = keyOf({ metadata });
      if (objects.get(key)?.metadata.uid !== metadata.uid) return;
      if (metadata.uid !== undefined) deletedUids.add(metadata.uid);
      set(key, undefined, false);
    },
    clear() {
      deletedUids.clear();
      removeAll(() => true);
    },
  };
}

const same = (object: KubernetesObject): KubernetesObject => object;

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
