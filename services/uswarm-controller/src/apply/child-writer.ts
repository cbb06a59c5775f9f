import {
  type DeleteOptions,
  isAlreadyExists,
  isConflict,
  isNotFound,
  keyOf,
  type KubeClient,
  type KubernetesObject,
  type ObjectName,
  type Resource,
  type Store,
} from '@uswarm/kube-client';
import { ownerUid } from '../caches/namespace-scope.js';
import { lastOtherManager } from './contest.js';
import { ApplyError, RequeueError } from './failure.js';
import { pruneForeignFields, union } from '../caches/prune-foreign-fields.js';

export interface ChildTarget {
  resource: Resource;
  store: Pick<Store, 'write' | 'written' | 'deleted'>;
}

type Client = Pick<KubeClient, 'get' | 'create' | 'apply' | 'jsonPatch' | 'delete'>;

/** Writes single children. Each response goes into the store, so that the next reconcile does not see an older version. */
export interface ChildWriter {
  /** @throws ApplyError `NameConflict` if an object with another owner has the name. */
  create(target: ChildTarget, desired: KubernetesObject, signal: AbortSignal): Promise<KubernetesObject>;
  update(target: ChildTarget, desired: KubernetesObject, uid: string, signal: AbortSignal): Promise<Updated>;
  remove(target: ChildTarget, observed: KubernetesObject, propagation: Propagation, signal: AbortSignal): Promise<void>;
}

export type Propagation = DeleteOptions['propagation'];

export interface Updated {
  stored: KubernetesObject;
  /** Field manager of the last write before ours, if it was another one. */
  rewrittenBy: string | undefined;
}

export function createChildWriter(client: Client, fieldManager: string): ChildWriter {
  const update: ChildWriter['update'] = async ({ resource, store }, desired, uid, signal) => {
    const live = await client.get(resource, desired.metadata, signal);
    if (live.metadata.uid !== uid || ownerUid(live) !== ownerUid(desired)) {
      throw new RequeueError(`${nameOf(desired)} was replaced or given to another owner`);
    }
    const owned = await ownByApply(client, fieldManager, resource, live, signal);
    // Foreign fields are reverted first: a changed port and ours would have the same name, which the API server rejects.
    const foreign = pruneForeignFields(owned, desired, fieldManager);
    const pruned = foreign.length === 0 ? owned : await patchSeen(client, resource, owned, foreign, signal);
    // Without the version, a field that another client adds meanwhile would be remembered as ours.
    const sent = { ...desired, metadata: { ...desired.metadata, uid, ...versionOf(pruned) } };
    const apply = () => client.apply(resource, sent, { force: true }, signal);
    const written = await unlessChanged(live, store.write(keyOf(desired), apply));
    return { stored: written, rewrittenBy: lastOtherManager(live.metadata.managedFields ?? [], fieldManager) };
  };
  return {
    update,
    async create(target, desired, signal) {
      try {
        return await target.store.write(keyOf(desired), () => client.create(target.resource, desired, signal));
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
      }
      // It is still our child if the cache is behind or the label that the watch selects by was removed.
      const live = await client.get(target.resource, desired.metadata, signal);
      if (ownerUid(live) !== ownerUid(desired)) {
        throw new ApplyError('NameConflict', `${nameOf(desired)} exists and has another owner`);
      }
      if (live.metadata.deletionTimestamp !== undefined) {
        throw new ApplyError('ApplyFailed', `${nameOf(desired)} is still being deleted`);
      }
      return (await update(target, desired, live.metadata.uid ?? '', signal)).stored;
    },
    async remove({ resource, store }, observed, propagation, signal) {
      const { uid = '' } = observed.metadata;
      // Without the version, a child that was orphaned since it was observed would be deleted.
      const options = { uid, ...versionOf(observed), propagation };
      try {
        const rest = await client.delete(resource, observed.metadata, options, signal);
        if (rest === undefined || rest.metadata.deletionTimestamp === undefined) store.deleted(observed);
        else store.written(rest);
      } catch (error) {
        if (!isNotFound(error) && !isConflict(error)) throw error;
        const live = isNotFound(error) ? undefined : await find(client, resource, observed.metadata, signal);
        if (live?.metadata.uid === uid) store.written(live);
        else store.deleted(observed);
        if (isConflict(error)) throw new RequeueError(`${nameOf(observed)} changed meanwhile`, { cause: error });
      }
    },
  };
}

/** @returns the object, or undefined if it does not exist */
export async function find(
  client: Pick<KubeClient, 'get'>,
  resource: Resource,
  name: ObjectName,
  signal: AbortSignal,
): Promise<KubernetesObject | undefined> {
  try {
    return await client.get(resource, name, signal);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

export const nameOf = ({ kind, metadata }: KubernetesObject): string =>
  `${kind} ${metadata.namespace}/${metadata.name}`;

/** The precondition that an object has not changed. */
const versionOf = ({ metadata: { resourceVersion } }: KubernetesObject): { resourceVersion?: string } =>
  resourceVersion === undefined ? {} : { resourceVersion };

/** @throws RequeueError if the object changed since it was observed. */
function patchSeen(
  client: Pick<KubeClient, 'jsonPatch'>,
  resource: Resource,
  seen: KubernetesObject,
  patch: object[],
  signal: AbortSignal,
): Promise<KubernetesObject> {
  const unchanged = { op: 'replace', path: '/metadata/resourceVersion', value: seen.metadata.resourceVersion };
  return unlessChanged(seen, client.jsonPatch(resource, seen.metadata, [unchanged, ...patch], signal));
}

/** @throws RequeueError for a conflict */
async function unlessChanged<T>(object: KubernetesObject, write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    throw isConflict(error) ? new RequeueError(`${nameOf(object)} changed meanwhile`, { cause: error }) : error;
  }
}

/**
 * Fields that our create or patch set are owned by the operation `Update`, so an apply that omits such a field would not
 * remove it. Before an apply, the ownership is transferred to the operation `Apply`.
 */
async function ownByApply(
  client: Pick<KubeClient, 'jsonPatch'>,
  fieldManager: string,
  resource: Resource,
  live: KubernetesObject,
  signal: AbortSignal,
): Promise<KubernetesObject> {
  const { managedFields = [] } = live.metadata;
  const ours = managedFields.filter(({ manager, subresource = '' }) => manager === fieldManager && subresource === '');
  const first = ours.find(({ operation }) => operation === 'Update');
  if (first === undefined) return live;
  const owned = { ...first, operation: 'Apply', fieldsV1: ours.map(({ fieldsV1 = {} }) => fieldsV1).reduce(union) };
  const handedOver = managedFields.flatMap((entry) =>
    entry === first ? [owned] : ours.includes(entry) ? [] : [entry],
  );
  const patch = [{ op: 'replace', path: '/metadata/managedFields', value: handedOver }];
  return patchSeen(client, resource, live, patch, signal);
}
