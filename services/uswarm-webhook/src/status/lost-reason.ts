import type { Condition } from '@uswarm/contract/userswarm';
import { RUNTIME_CONTAINER } from '../observed/runtime-container.js';
import { terminationSummary } from './termination.js';
import { type ContainerStatus, type Pod, sinceOf } from '../observed/observed.js';
import { type Cause, firstCause } from './pod-reason.js';

// Causes why a runtime lost readiness. A new pod template does not resolve them.

const EVICTED = 'Evicted';

/** The cause in the live pods why a started runtime is not ready. */
export const lossCause = (pods: readonly Pod[]): Cause | undefined =>
  firstCause([nodeLost, sidecarCrashing, readinessFailed], pods, '');

/**
 * Only the node lifecycle controller changed the Ready condition; the kubelet, which writes the others, is silent. A
 * kubelet that waits for a readiness gate sets its own reason.
 */
function nodeLost({ status }: Pod): Cause | undefined {
  const { conditions = [], containerStatuses = [] } = status ?? {};
  const conditionOf = (wanted: string) => conditions.find(({ type }) => type === wanted);
  const ready = conditionOf('Ready');
  const lost =
    ready?.status === 'False' &&
    ready.reason !== 'ReadinessGatesNotReady' &&
    conditionOf('ContainersReady')?.status === 'True' &&
    containerStatuses.length > 0 &&
    containerStatuses.every((container) => container.ready === true);
  return lost ? { reason: 'NodeLost', message: 'The node of the pod no longer reports to the API server.' } : undefined;
}

function sidecarCrashing({ status }: Pod): Cause | undefined {
  const { containerStatuses = [], initContainerStatuses = [] } = status ?? {};
  const failing = [...initContainerStatuses, ...containerStatuses].find(
    (container) => container.name !== RUNTIME_CONTAINER && container.ready !== true && isLooping(container),
  );
  if (failing === undefined) return undefined;
  const { exitCode } = failing.state?.terminated ?? failing.lastState?.terminated ?? {};
  // A foreign container's log is not shown.
  const how = terminationSummary(exitCode === undefined ? {} : { exitCode });
  return { reason: 'SidecarCrashing', message: `The container ${failing.name} beside the runtime ${how}.` };
}

const LOOPS: ReadonlySet<string | undefined> = new Set([
  'CrashLoopBackOff',
  'RunContainerError',
  'CreateContainerError',
  'CreateContainerConfigError',
  'ErrImagePull',
  'ImagePullBackOff',
]);

const isLooping = ({ state, lastState, restartCount = 0 }: ContainerStatus): boolean =>
  LOOPS.has(state?.waiting?.reason) ||
  (restartCount >= 2 && (state?.terminated ?? lastState?.terminated)?.exitCode !== undefined);

/** The container is running, and the pod was ready after its start. */
function readinessFailed(pod: Pod): Cause | undefined {
  const runtime = pod.status?.containerStatuses?.find(({ name }) => name === RUNTIME_CONTAINER);
  const startedAt = runtime?.state?.running?.startedAt;
  const since = sinceOf(pod, 'Ready', 'False');
  if (runtime?.ready !== false || startedAt === undefined || since === undefined || since <= startedAt) {
    return undefined;
  }
  return { reason: 'ReadinessFailed', message: 'The runtime is running but fails its readiness probe.' };
}

/** When the runtime was created or last resumed, and the stored condition `Ready`. */
export interface RuntimeHistory {
  since: string;
  ready: Condition | undefined;
}

/**
 * An eviction, if the newest terminated pod was evicted since the last start and the runtime was not ready after it.
 *
 * @param pods the newest first
 */
export function evicted(pods: readonly Pod[], { since, ready }: RuntimeHistory): Cause | undefined {
  const at = pods.findIndex(({ status }) => status?.phase === 'Failed');
  const ended = pods[at];
  if (ended?.status?.reason !== EVICTED || endOf(ended) < since) return undefined;
  if (pods.slice(0, at).some(wasReady) || wasReadyAfter(ended, ready)) return undefined;
  const why = (ended.status.message ?? '').replaceAll(/\s+/g, ' ').trim();
  return { reason: EVICTED, message: why === '' ? 'The node evicted the pod.' : `The node evicted the pod: ${why}` };
}

const endOf = (pod: Pod): string => sinceOf(pod, 'DisruptionTarget', 'True') ?? pod.metadata.creationTimestamp ?? '';

/**
 * True if the pod is or was ready: its condition changed after the kubelet first wrote it, together with `Initialized`.
 * A restart renews the container's start, which therefore cannot be compared.
 */
function wasReady(pod: Pod): boolean {
  if (sinceOf(pod, 'Ready', 'True') !== undefined) return true;
  const initialized = sinceOf(pod, 'Initialized', 'True');
  return initialized !== undefined && (sinceOf(pod, 'Ready', 'False') ?? '') > initialized;
}

/** Seconds in which a loss of readiness is seen. */
const SEEN_WITHIN_S = 10;

/**
 * Whether the UserSwarm was Ready after the eviction, also if the pod that followed no longer exists: it became Ready later, or
 * lost readiness later than the evicted pod could.
 */
function wasReadyAfter(ended: Pod, ready: Condition | undefined): boolean {
  const evictedAt = sinceOf(ended, 'DisruptionTarget', 'True');
  if (ready === undefined || evictedAt === undefined) return false;
  const graceS = (ended['spec'] as { terminationGracePeriodSeconds?: number } | undefined)
    ?.terminationGracePeriodSeconds;
  const laterS = (Date.parse(ready.lastTransitionTime) - Date.parse(evictedAt)) / 1_000;
  return ready.status === 'True' ? laterS > 0 : laterS > (graceS ?? DEFAULT_GRACE_S) + SEEN_WITHIN_S;
}

/** The default of Kubernetes. */
const DEFAULT_GRACE_S = 30;
