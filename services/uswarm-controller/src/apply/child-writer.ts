import type { KubernetesObject } from '@uswarm/contract/userswarm';
import {
  type DeleteOptions,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type KubeClient,
  type Resource,
  type Store,
} from '@uswarm/kube-client';
import { ownerUid } from '../caches/namespace-scope.js';
import { lastStranger } from './contest.js';
import { ApplyError, RequeueError } from './failure.js';
import { pruneForeignFields } from './prune-foreign-fields.js';

export interface ChildTarget {
  resource: Resource;
  store: Pick<Store, 'written' | 'deleted'>;
}

type Client = Pick<KubeClient, 'get' | 'create' | 'apply' | 'jsonPatch' | 'delete'>;

/** Writes of one child each. What comes back goes into the store, so that nobody acts on less. */
export interface ChildWriter {
  /** @throws ApplyError `NameConflict` if somebody else's object has the name. */
  create(target: ChildTarget, desired: KubernetesObject, signal: AbortSignal): Promise<KubernetesObject>;
  update(target: ChildTarget, desired: KubernetesObject, uid: string, signal: AbortSignal): Promise<Updated>;
  remove(target: ChildTarget, observed: KubernetesObject, propagation: Propagation, signal: AbortSignal): Promise<void>;
}

export type Propagation = DeleteOptions['propagation'];

export interface Updated {
  stored: KubernetesObject;
  /** The field manager that wrote it last before us, if another one did. */
  rewrittenBy: string | undefined;
}

export function createChildWriter(client: Client, fieldManager: string): ChildWriter {
  const update: ChildWriter['update'] = async ({ resource, store }, desired, uid, signal) => {
    const live = await client.get(resource, desired.metadata, signal);
    if (live.metadata.uid !== uid || ownerUid(live) !== ownerUid(desired)) {
      throw new RequeueError(`${nameOf(desired)} was replaced or given to another owner`);
    }
    const owned = await ownByApply(client, fieldManager, resource, live, signal);
    // First: of a port that somebody changed and ours, which would have the same name, there may be only one.
    const foreign = pruneForeignFields(owned, desired, fieldManager);
    if (foreign.length > 0) await patchSeen(client, resource, owned, foreign, signal);
    const written = await client.apply(resource, withUid(desired, uid), { force: true }, signal);
    store.written(written);
    return { stored: written, rewrittenBy: lastStranger(live.metadata.managedFields ?? [], fieldManager) };
  };
  return {
    update,
    async create(target, desired, signal) {
      try {
        const written = await client.create(target.resource, desired, signal);
        target.store.written(written);
        return written;
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
      }
      // Ours all the same if our cache is behind, or somebody took the label off that we watch by.
      const live = await client.get(target.resource, desired.metadata, signal);
      if (ownerUid(live) !== ownerUid(desired)) {
        throw new ApplyError('NameConflict', `${nameOf(desired)} exists and belongs to somebody else`);
      }
      if (live.metadata.deletionTimestamp !== undefined) {
        throw new ApplyError('ApplyFailed', `${nameOf(desired)} is still being deleted`);
      }
      return (await update(target, desired, live.metadata.uid ?? '', signal)).stored;
    },
    async remove({ resource, store }, observed, propagation, signal) {
      try {
        const rest = await client.delete(
          resource,
          observed.metadata,
          { uid: observed.metadata.uid ?? '', propagation },
          signal,
        );
        if (rest === undefined || rest.metadata.deletionTimestamp === undefined) store.deleted(observed);
        else store.written(rest);
      } catch (error) {
        // Gone, or replaced by another object of that name: what we wanted to delete is not there.
        if (!isNotFound(error) && !isConflict(error)) throw error;
        store.deleted(observed);
      }
    },
  };
}

export const nameOf = ({ kind, metadata }: KubernetesObject): string =>
  `${kind} ${metadata.namespace}/${metadata.name}`;

const withUid = (object: KubernetesObject, uid: string): KubernetesObject => ({
  ...object,
  metadata: { ...object.metadata, uid },
});

/** @throws RequeueError if it is not as it was seen any more. */
async function patchSeen(
  client: Pick<KubeClient, 'jsonPatch'>,
  resource: Resource,
  seen: KubernetesObject,
  patch: object[],
  signal: AbortSignal,
): Promise<KubernetesObject> {
  const unchanged = { op: 'replace', path: '/metadata/resourceVersion', value: seen.metadata.resourceVersion };
  try {
    return await client.jsonPatch(resource, seen.metadata, [unchanged, ...patch], signal);
  } catch (error) {
    throw isConflict(error) ? new RequeueError(`${nameOf(seen)} changed meanwhile`, { cause: error }) : error;
  }
}

/**
 * What a create or a patch of ours set is owned by the operation `Update`, and an apply that leaves
 * such a field out would not remove it. So before an apply the ownership is handed over to it.
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

/** Sets of fields are objects of objects. */
function union(left: object, right: object): object {
  const merged: Record<string, object> = { ...left };
  for (const [name, below] of Object.entries(right) as [string, object][]) {
    merged[name] = union(merged[name] ?? {}, below);
  }
  return merged;
}
