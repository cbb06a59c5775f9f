import type { ChildGroup } from '@uswarm/contract/userswarm';
import type { Resource } from '@uswarm/kube-client';

export const NAMESPACES: Resource = { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace' };
export const PODS: Resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod' };
export const REPLICA_SETS: Resource = { group: 'apps', version: 'v1', plural: 'replicasets', kind: 'ReplicaSet' };
export const EVENTS: Resource = { group: '', version: 'v1', plural: 'events', kind: 'Event' };
export const CONFIG_MAPS: Resource = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap' };
export const LEASES: Resource = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', kind: 'Lease' };

/** The kinds of children, in creation order: a pod needs its ServiceAccount. */
export const CHILD_RESOURCES: Readonly<Record<ChildGroup, Resource>> = {
  'ServiceAccount.v1': { group: '', version: 'v1', plural: 'serviceaccounts', kind: 'ServiceAccount' },
  'Service.v1': { group: '', version: 'v1', plural: 'services', kind: 'Service' },
  'Deployment.apps/v1': { group: 'apps', version: 'v1', plural: 'deployments', kind: 'Deployment' },
};

/** CompositeController that the chart creates for Metacontroller; here only a name in requests. */
export const COMPOSITE_CONTROLLER = 'userswarm-controller';
