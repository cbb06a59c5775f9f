import type { ChildGroup, KubernetesObject, UserSwarm } from '@uswarm/contract/userswarm';

/** Names one object; without a namespace, a cluster-scoped one. */
export interface Ref {
  kind: string;
  namespace?: string;
  name: string;
}

export const keyOf = ({ kind, namespace = '', name }: Ref): string => `${kind}/${namespace}/${name}`;

export const refOf = ({ kind, metadata: { namespace, name } }: KubernetesObject): Ref => ({
  kind,
  ...(namespace === undefined ? {} : { namespace }),
  name,
});

/** The key that a hook sees a child by: the parent is cluster-scoped. */
export const hookKey = ({
  metadata: { namespace, name },
}: {
  metadata: { namespace?: string | undefined; name: string };
}): string => (namespace === undefined ? name : `${namespace}/${name}`);

export const GROUP_OF_KIND: Readonly<Record<string, ChildGroup>> = {
  ServiceAccount: 'ServiceAccount.v1',
  Service: 'Service.v1',
  Deployment: 'Deployment.apps/v1',
};

export const controllerOf = (object: KubernetesObject): string | undefined =>
  object.metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;

export const isTerminating = ({ metadata }: KubernetesObject): boolean => metadata.deletionTimestamp !== undefined;

/** The same object, read as a UserSwarm. */
export const asUserSwarm = (object: KubernetesObject): UserSwarm => object as unknown as UserSwarm;
