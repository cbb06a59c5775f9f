import { type ChildGroup, childName } from '@uswarm/contract/userswarm';
import type { KubeClient, KubernetesObject } from '@uswarm/kube-client';
import { find } from '../apply/child-writer.js';
import { type NamespaceScope, ownerUid } from '../caches/namespace-scope.js';
import { CHILD_RESOURCES } from '../resources.js';
import { podsOf } from '../caches/runtime-pods.js';

const DEPLOYMENT: ChildGroup = 'Deployment.apps/v1';

/**
 * True if a terminating UserSwarm's pods belong to a Deployment that it no longer owns, for example after
 * `--cascade=orphan`. Such a Deployment would replace each pod that we delete.
 */
export async function isDeploymentOrphaned(
  client: Pick<KubeClient, 'get'>,
  parent: KubernetesObject,
  scope: Pick<NamespaceScope, 'name' | 'children' | 'pods'> | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  const { name, uid = '' } = parent.metadata;
  if (scope === undefined || podsOf(parent, scope).length === 0) return false;
  if (scope.children[DEPLOYMENT].indexed(uid).length > 0) return false;
  const id = { name: childName(name), namespace: scope.name };
  const deployment = await find(client, CHILD_RESOURCES[DEPLOYMENT], id, signal);
  return deployment !== undefined && ownerUid(deployment) !== uid;
}
