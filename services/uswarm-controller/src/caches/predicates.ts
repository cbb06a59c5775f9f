import type { Change, KubernetesObject, StatusCondition } from '@uswarm/kube-client';
import { canonical, sameContent } from '../canonical.js';

// Event filters. Most changes to a Deployment and its pod during a normal start need no reconcile: five in six would
// find nothing to do. Changes that are filtered out are seen at the next reconcile or resync.

/** True if a child changed in more than the progress that its own controller reports. */
export function childChanged({ before, after }: Change, hasReadyPod: (child: KubernetesObject) => boolean): boolean {
  const wasAvailable = before !== undefined && isAvailable(before);
  const becameAvailable = after !== undefined && isAvailable(after) && !wasAvailable;
  // The pod in a Deployment whose spec never changed has already triggered a reconcile: see the webhook's
  // `isAvailable`.
  const triggered = becameAvailable && generationOf(after) === 1 && hasReadyPod(after);
  return !sameContent(childConcern(before, wasAvailable), childConcern(after, triggered ? false : undefined));
}

/** Whether a pod was deleted (a finalizer waits for that), became Ready, or is not Ready for a new cause. */
export const podChanged = ({ before, after }: Change): boolean =>
  after === undefined || podConcern(before) !== podConcern(after);

/** Written by the Deployment controller. */
const ROLLOUT_ANNOTATION = 'deployment.kubernetes.io/revision';

function childConcern(child: KubernetesObject | undefined, available?: boolean): object | undefined {
  if (child === undefined) return undefined;
  const { metadata, status, ...fields } = child;
  const { annotations = {}, deletionTimestamp, finalizers, labels, ownerReferences, uid } = metadata;
  const { [ROLLOUT_ANNOTATION]: _revision, ...others } = annotations;
  const kept = { annotations: others, deletionTimestamp, finalizers, labels, ownerReferences, uid };
  return { ...fields, metadata: kept, status: child.kind === 'Deployment' ? rolloutState(child, available) : status };
}

interface DeploymentStatus {
  observedGeneration?: number;
  updatedReplicas?: number;
  readyReplicas?: number;
  conditions?: StatusCondition[];
}

const generationOf = ({ metadata }: KubernetesObject): number => (metadata as { generation?: number }).generation ?? 0;

/** True if the latest spec is rolled out and available. */
function isAvailable(deployment: KubernetesObject): boolean {
  const { observedGeneration = 0, readyReplicas = 0, updatedReplicas = 0 } = statusOf(deployment);
  return observedGeneration >= generationOf(deployment) && updatedReplicas >= 1 && readyReplicas >= 1;
}

/** The availability and the failure conditions. */
function rolloutState(deployment: KubernetesObject, available = isAvailable(deployment)): object {
  const { conditions = [] } = statusOf(deployment);
  const failing = conditions.filter(({ type, status: is }) => is === (type === 'ReplicaFailure' ? 'True' : 'False'));
  return {
    available,
    failing: failing
      .filter(({ type }) => type !== 'Available')
      .map(({ message, reason, type }) => ({ message, reason, type })),
  };
}

const statusOf = (deployment: KubernetesObject): DeploymentStatus => (deployment['status'] ?? {}) as DeploymentStatus;

interface PodStatus {
  phase?: string;
  reason?: string;
  message?: string;
  conditions?: StatusCondition[];
  initContainerStatuses?: ContainerStatus[];
  containerStatuses?: ContainerStatus[];
}

interface ContainerStatus {
  name: string;
  ready?: boolean;
  restartCount?: number;
  state?: { waiting?: { reason?: string; message?: string }; running?: { startedAt?: string }; terminated?: object };
  lastState?: { terminated?: object };
}

const ON_ITS_WAY: ReadonlySet<string> = new Set(['ContainerCreating', 'PodInitializing']);

/** True if the pod is Ready. */
export const isReadyPod = (pod: KubernetesObject): boolean =>
  ((pod['status'] ?? {}) as PodStatus).conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ??
  false;

/** Empty for a missing pod and for one that starts or terminates normally. */
function podConcern(pod: KubernetesObject | undefined): string {
  if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return '';
  const status = (pod['status'] ?? {}) as PodStatus;
  const { conditions = [], containerStatuses = [], initContainerStatuses = [] } = status;
  if (isReadyPod(pod)) return 'ready';
  const troubles = [
    ...conditions
      .filter(({ type, status: is }) => type === 'PodScheduled' && is === 'False')
      .map(({ message, reason }) => ({ message, reason })),
    ...[...initContainerStatuses, ...containerStatuses].flatMap(troubleOf),
    ...(lostReadiness(status) ? [{ reason: 'lost readiness' }] : []),
    ...(status.phase === 'Failed' ? [{ reason: status.reason, message: status.message }] : []),
  ];
  return troubles.length === 0 ? '' : canonical(troubles);
}

/**
 * Whether the pod lost readiness while its containers are running: its node is lost, or a readiness probe fails.
 */
function lostReadiness({ conditions = [], containerStatuses = [] }: PodStatus): boolean {
  const conditionOf = (conditionType: string) => conditions.find(({ type }) => type === conditionType);
  const ready = conditionOf('Ready');
  if (ready?.status !== 'False') return false;
  if (conditionOf('ContainersReady')?.status === 'True') return true;
  const since = ready.lastTransitionTime ?? '';
  return containerStatuses.some(
    ({ state }) => state?.running?.startedAt !== undefined && since > state.running.startedAt,
  );
}

function troubleOf({ lastState, name, ready = false, restartCount = 0, state = {} }: ContainerStatus): object[] {
  const { terminated, waiting } = state;
  const waits = waiting !== undefined && !ON_ITS_WAY.has(waiting.reason ?? '');
  const ended = terminated ?? lastState?.terminated;
  if (ready || (!waits && ended === undefined && restartCount === 0)) return [];
  return [{ name, waiting: waits ? waiting : undefined, ended, restartCount }];
}
