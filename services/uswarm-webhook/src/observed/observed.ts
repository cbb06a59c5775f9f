import {
  type ChildGroup,
  childName,
  foreignFinalizers,
  type ObjectsByKey,
  runtimeSelector,
  type SyncRequest,
  type UserSwarm,
} from '@uswarm/contract/userswarm';
import type { KubernetesObject, StatusCondition } from '@uswarm/kube-types';

// The Kubernetes fields that phase and reason are derived from.

export interface Terminated {
  reason?: string;
  exitCode?: number;
  message?: string;
  startedAt?: string;
  finishedAt?: string;
}

export interface ContainerStatus {
  name: string;
  image?: string;
  ready?: boolean;
  restartCount?: number;
  state?: {
    waiting?: { reason?: string; message?: string };
    running?: { startedAt?: string };
    terminated?: Terminated;
  };
  lastState?: { terminated?: Terminated };
}

export interface Pod extends KubernetesObject {
  status?: {
    phase?: string;
    reason?: string;
    message?: string;
    conditions?: StatusCondition[];
    initContainerStatuses?: ContainerStatus[];
    containerStatuses?: ContainerStatus[];
  };
}

export interface Deployment extends KubernetesObject {
  spec?: { replicas?: number };
  status?: {
    observedGeneration?: number;
    replicas?: number;
    updatedReplicas?: number;
    readyReplicas?: number;
    conditions?: StatusCondition[];
  };
}

/** The children with the expected name that this UserSwarm owns. */
export interface Observed {
  serviceAccount: KubernetesObject | undefined;
  service: KubernetesObject | undefined;
  deployment: Deployment | undefined;
}

export function observe({ parent, children }: SyncRequest, namespace: string): Observed {
  const find = (group: ChildGroup): KubernetesObject | undefined => {
    const child = children[group][`${namespace}/${childName(parent.metadata.name)}`];
    return child !== undefined && isOwned(child, parent) ? child : undefined;
  };
  return {
    serviceAccount: find('ServiceAccount.v1'),
    service: find('Service.v1'),
    deployment: find('Deployment.apps/v1'),
  };
}

/** Whether the object is owned by this UserSwarm, by uid. */
export function isOwned(child: KubernetesObject, { metadata: { uid } }: UserSwarm): boolean {
  return (child.metadata.ownerReferences ?? []).some((owner) => owner.controller === true && owner.uid === uid);
}

/** True if the UserSwarm is terminating. */
export const isDeleting = ({ finalizing, parent }: SyncRequest): boolean =>
  finalizing || parent.metadata.deletionTimestamp !== undefined;

/** Phases of terminated pods, such as evicted ones. */
const ENDED: ReadonlySet<unknown> = new Set(['Failed', 'Succeeded']);

/** The runtime's live pods, newest first. */
export const livePods = (request: SyncRequest, namespace: string): Pod[] =>
  podsOf(request, namespace).filter(({ status }) => !ENDED.has(status?.phase));

/** The runtime's pods that are not being deleted, newest first. */
export function podsOf({ parent, related }: SyncRequest, namespace: string): Pod[] {
  const selector = Object.entries(runtimeSelector(parent.metadata.name));
  return (Object.values(related['Pod.v1'] ?? {}) as Pod[])
    .filter(({ metadata }) => metadata.namespace === namespace && metadata.deletionTimestamp === undefined)
    .filter(({ metadata }) => selector.every(([label, value]) => metadata.labels?.[label] === value))
    .toSorted(
      (left, right) => age(right).localeCompare(age(left)) || left.metadata.name.localeCompare(right.metadata.name),
    );
}

/** The transition time; undefined if the condition does not have this status. */
export const sinceOf = (pod: Pod | Deployment, type: string, status: string): string | undefined =>
  pod.status?.conditions?.find((condition) => condition.type === type && condition.status === status)
    ?.lastTransitionTime;

const age = ({ metadata }: Pod): string => metadata.creationTimestamp ?? '';

export type NamespaceState = 'present' | 'terminating' | 'missing' | 'unknown';

/** Namespace state; unknown if the framework does not send namespaces. */
export function namespaceState({ related }: SyncRequest, name: string): NamespaceState {
  const namespaces: ObjectsByKey | undefined = related['Namespace.v1'];
  if (namespaces === undefined) return 'unknown';
  const namespace = namespaces[name];
  if (namespace === undefined) return 'missing';
  return namespace.metadata.deletionTimestamp === undefined ? 'present' : 'terminating';
}

/**
 * Kinds and names of the objects that a deletion waits for: the pods, or the children when the pods are deleted or the
 * framework does not send them. An object that another program keeps is always listed, with its finalizers.
 */
export function remainingObjects({ children, related }: SyncRequest): string[] {
  const pods = Object.entries(related['Pod.v1'] ?? {}).map(([key, pod]) => remaining('Pod', key, pod));
  const others = Object.values(children).flatMap((objects) =>
    Object.entries(objects).map(([key, child]) => remaining(child.kind, key, child)),
  );
  return (pods.length === 0 ? others : [...pods, ...others.filter(({ kept }) => kept)]).map(({ text }) => text);
}

function remaining(kind: string, key: string, { metadata }: KubernetesObject): { text: string; kept: boolean } {
  const foreign = foreignFinalizers(metadata);
  const kept = foreign.length > 0;
  return { text: kept ? `${kind} ${key} (finalizers: ${foreign.join(', ')})` : `${kind} ${key}`, kept };
}
