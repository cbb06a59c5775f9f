import { childName } from '@uswarm/contract/userswarm';
import type { KubernetesObject, OwnerReference } from '@uswarm/kube-client';
import type { NamespaceScope } from './namespace-scope.js';

/** Owner reference to the ReplicaSet of the runtime's Deployment, if any. */
export function replicaSetOf(pod: KubernetesObject, parentName: string): OwnerReference | undefined {
  const prefix = `${childName(parentName)}-`;
  return pod.metadata.ownerReferences?.find(({ kind, name }) => kind === 'ReplicaSet' && name.startsWith(prefix));
}

/** The runtime's pods, including terminating ones. */
export const podsOf = ({ metadata }: KubernetesObject, scope: Pick<NamespaceScope, 'pods'>): KubernetesObject[] =>
  scope.pods.indexed(metadata.name).filter((pod) => replicaSetOf(pod, metadata.name) !== undefined);
