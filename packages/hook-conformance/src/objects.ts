import type { ChildGroup, UserSwarm } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-types';

/** Object name; cluster-scoped without a namespace. */
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

/** A child's key in a sync request. It has the namespace because the parent is cluster-scoped. */
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

/** A cast. */
export const asUserSwarm = (object: KubernetesObject): UserSwarm => object as unknown as UserSwarm;
