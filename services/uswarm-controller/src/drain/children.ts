import { CHILD_GROUPS, type KubernetesObject } from '@uswarm/contract/userswarm';
import { isDenied, isNotFound, type KubeClient, type Resource } from '@uswarm/kube-client';
import { nameOf } from '../apply/child-writer.js';
import { ownerUid } from '../caches/namespace-scope.js';
import { CHILD_RESOURCES, NAMESPACES } from '../resources.js';
import { deleteSeen, type DrainClient, forEach, isTerminating, listAll } from './userswarms.js';

interface Child {
  resource: Resource;
  object: KubernetesObject;
}

/** What belongs to each UserSwarm, by its uid; the uid alone says so, whatever labels a child has left. */
export type ChildrenByOwner = Map<string, Child[]>;

export async function findChildren(
  client: DrainClient,
  namespaces: readonly string[],
  signal: AbortSignal,
): Promise<ChildrenByOwner> {
  const byOwner: ChildrenByOwner = new Map();
  for (const namespace of namespaces) {
    for (const group of CHILD_GROUPS) {
      const resource = CHILD_RESOURCES[group];
      for (const object of await listIn(client, resource, namespace, signal)) {
        const owner = ownerUid(object);
        if (owner !== undefined) byOwner.set(owner, [...(byOwner.get(owner) ?? []), { resource, object }]);
      }
    }
  }
  return byOwner;
}

/** The rights in a namespace go with it, so a refusal may mean that nothing is left in there. */
async function listIn(
  client: DrainClient,
  resource: Resource,
  namespace: string,
  signal: AbortSignal,
): Promise<KubernetesObject[]> {
  try {
    return await listAll(client, resource, signal, namespace);
  } catch (error) {
    if (isDenied(error) && (await isMissing(client, namespace, signal))) return [];
    throw error;
  }
}

async function isMissing(client: Pick<KubeClient, 'get'>, name: string, signal: AbortSignal): Promise<boolean> {
  try {
    await client.get(NAMESPACES, { name }, signal);
    return false;
  } catch (error) {
    return isNotFound(error);
  }
}

/** Deletes what is not on its way out yet. In the foreground a Deployment is there until its pods are gone. */
export function deleteChildren(client: DrainClient, children: readonly Child[], signal: AbortSignal): Promise<void> {
  const staying = children.filter(({ object }) => !isTerminating(object));
  return forEach(staying, ({ resource, object }) =>
    deleteSeen(client, resource, object, resource.kind === 'Deployment' ? 'Foreground' : 'Background', signal),
  );
}

export const namesOf = (children: readonly Child[]): string =>
  children.map(({ resource, object }) => nameOf({ ...object, kind: resource.kind })).join(', ');
