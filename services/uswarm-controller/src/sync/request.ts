import { CHILD_GROUPS, type ChildGroup, type ObjectsByKey, type SyncRequest } from '@uswarm/contract/userswarm';
import { apiVersionOf, keyOf, type KubernetesObject, type Resource, type Store } from '@uswarm/kube-client';
import { CHILD_RESOURCES, COMPOSITE_CONTROLLER } from '../resources.js';
import { runtimeNamespaceOf } from '../caches/caches.js';
import { podsOf } from '../caches/runtime-pods.js';
import type { NamespaceScope } from '../caches/namespace-scope.js';

export type Observed = Record<ChildGroup, ObjectsByKey>;

const byKey = (objects: readonly KubernetesObject[]): ObjectsByKey =>
  Object.fromEntries(objects.map((object) => [keyOf(object), object]));

/** Children that this UserSwarm controls, by the owner's uid; includes terminating ones. */
export function observeChildren(parentUid: string, scope: Pick<NamespaceScope, 'children'> | undefined): Observed {
  const observed = CHILD_GROUPS.map((group) => [group, byKey(scope?.children[group].indexed(parentUid) ?? [])]);
  return Object.fromEntries(observed) as Observed;
}

/**
 * Related objects that explain why a runtime is not Ready: its namespace and its pods. A pod must have the runtime's
 * labels and be controlled by one of its Deployment's ReplicaSets.
 */
export function observeRelated(
  parent: KubernetesObject,
  namespaces: Pick<Store, 'get'>,
  scope: (Pick<NamespaceScope, 'pods'> & Partial<Pick<NamespaceScope, 'warnings'>>) | undefined,
): SyncRequest['related'] {
  const namespace = namespaces.get(runtimeNamespaceOf(parent));
  const pods = scope === undefined ? [] : podsOf(parent, scope);
  const warnings = pods.flatMap((pod) => scope?.warnings?.of(pod) ?? []);
  return {
    'Pod.v1': byKey(pods),
    'Namespace.v1': byKey(namespace === undefined ? [] : [namespace]),
    ...(warnings.length === 0 ? {} : { 'Event.v1': byKey(warnings) }),
  };
}

/** The request's `controller` field, in Metacontroller's format. */
export function describeController(parent: Resource, resyncS: number): KubernetesObject {
  const childResources = CHILD_GROUPS.map((group) => {
    const resource = CHILD_RESOURCES[group];
    return {
      apiVersion: apiVersionOf(resource),
      resource: resource.plural,
      updateStrategy: { method: 'InPlace' },
    };
  });
  return {
    apiVersion: 'metacontroller.k8s.io/v1alpha1',
    kind: 'CompositeController',
    metadata: { name: COMPOSITE_CONTROLLER },
    spec: {
      generateSelector: true,
      resyncPeriodSeconds: resyncS,
      parentResource: { apiVersion: apiVersionOf(parent), resource: parent.plural },
      childResources,
    },
  };
}
