import { CHILD_GROUPS } from '@uswarm/contract/userswarm';
import { isDenied, isNotFound, type KubeClient, type KubernetesObject, type Resource } from '@uswarm/kube-client';
import { nameOf } from '../apply/child-writer.js';
import { ownerUid } from '../caches/namespace-scope.js';
import { CHILD_RESOURCES, NAMESPACES } from '../resources.js';
import { deleteSeen, type DrainClient, forEach, isTerminating, listAll } from './userswarms.js';

interface Child {
  resource: Resource;
  object: KubernetesObject;
}

/** Each UserSwarm's children, found by their owner's uid. Labels are ignored, because other clients can change them. */
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

/** RBAC rules are deleted with their namespace, so a 403 may mean that the namespace no longer exists. */
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

/** Deletes the children that are not terminating. With `Foreground`, a Deployment exists until its pods are deleted. */
export function deleteChildren(client: DrainClient, children: readonly Child[], signal: AbortSignal): Promise<void> {
  const staying = children.filter(({ object }) => !isTerminating(object));
  return forEach(staying, ({ resource, object }) =>
    deleteSeen(client, resource, object, resource.kind === 'Deployment' ? 'Foreground' : 'Background', signal),
  );
}

export const namesOf = (children: readonly Child[]): string =>
  children.map(({ resource, object }) => nameOf({ ...object, kind: resource.kind })).join(', ');
