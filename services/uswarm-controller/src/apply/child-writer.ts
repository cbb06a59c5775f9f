import type { KubernetesObject } from '@uswarm/contract/userswarm';
import {
  isAlreadyExists,
  isConflict,
  isNotFound,
  type KubeClient,
  type Resource,
  type Store,
} from '@uswarm/kube-client';
import { ownerUid } from '../caches/namespace-scope.js';
import { ApplyError, TryAgain } from './failure.js';

export interface ChildTarget {
  resource: Resource;
  store: Pick<Store, 'written' | 'deleted'>;
}

type Client = Pick<KubeClient, 'get' | 'create' | 'apply' | 'jsonPatch' | 'delete'>;

/** Writes of one child each. What comes back goes into the store, so that nobody acts on less. */
export interface ChildWriter {
  /** @throws ApplyError `NameConflict` if somebody else's object has the name. */
  create(target: ChildTarget, desired: KubernetesObject, signal: AbortSignal): Promise<KubernetesObject>;
  update(target: ChildTarget, desired: KubernetesObject, uid: string, signal: AbortSignal): Promise<KubernetesObject>;
  remove(target: ChildTarget, observed: KubernetesObject, signal: AbortSignal): Promise<void>;
}

export function createChildWriter(client: Client, fieldManager: string): ChildWriter {
  const update: ChildWriter['update'] = async ({ resource, store }, desired, uid, signal) => {
    const live = await client.get(resource, desired.metadata, signal);
    if (live.metadata.uid !== uid || ownerUid(live) !== ownerUid(desired)) {
      throw new TryAgain(`${nameOf(desired)} was replaced or given to another owner`);
    }
    await ownByApply(client, fieldManager, resource, live, signal);
    const written = await client.apply(resource, withUid(desired, uid), { force: true }, signal);
    store.written(written);
    return written;
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
      return update(target, desired, live.metadata.uid ?? '', signal);
    },
    async remove({ resource, store }, observed, signal) {
      // In the foreground the Deployment is there until its pods are gone.
      const propagation = resource.kind === 'Deployment' ? 'Foreground' : 'Background';
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

interface ManagedFields {
  manager?: string;
  operation?: string;
  subresource?: string;
}

/**
 * What a create set is owned by the operation `Update`, and an apply that leaves such a field out
 * would not remove it. So before the first apply the ownership is renamed.
 */
async function ownByApply(
  client: Pick<KubeClient, 'jsonPatch'>,
  fieldManager: string,
  resource: Resource,
  live: KubernetesObject,
  signal: AbortSignal,
): Promise<void> {
  const { managedFields = [], resourceVersion } = live.metadata as {
    managedFields?: ManagedFields[];
    resourceVersion?: string;
  };
  const created = (entry: ManagedFields): boolean =>
    entry.manager === fieldManager && entry.operation === 'Update' && (entry.subresource ?? '') === '';
  if (!managedFields.some(created)) return;
  const renamed = managedFields.map((entry) => (created(entry) ? { ...entry, operation: 'Apply' } : entry));
  try {
    await client.jsonPatch(
      resource,
      live.metadata,
      [
        { op: 'replace', path: '/metadata/resourceVersion', value: resourceVersion },
        { op: 'replace', path: '/metadata/managedFields', value: renamed },
      ],
      signal,
    );
  } catch (error) {
    throw isConflict(error) ? new TryAgain(`${nameOf(live)} changed meanwhile`, { cause: error }) : error;
  }
}
