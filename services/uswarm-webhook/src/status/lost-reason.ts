import { RUNTIME_CONTAINER } from '../render/deployment.js';
import { howItEnds } from './ending.js';
import { type ContainerStatus, type Pod, sinceOf } from './observed.js';
import { type Cause, firstCause } from './pod-reason.js';

// Why a runtime that came up is not Ready any more. A new pod template would not help these.

const EVICTED = 'Evicted';

/** The cause that live pods show for not being ready although the runtime itself came up. */
export const lossCause = (pods: readonly Pod[]): Cause | undefined =>
  firstCause([nodeLost, sidecarCrashing, readinessFailed], pods, '');

/**
 * The node lifecycle controller writes only the pod's condition; the kubelet, which writes the others, is silent.
 * A kubelet that waits for a readiness gate says so.
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
  return lost
    ? { reason: 'NodeLost', message: 'The node of the pod does not report to the API server any more.' }
    : undefined;
}

function sidecarCrashing({ status }: Pod): Cause | undefined {
  const { containerStatuses = [], initContainerStatuses = [] } = status ?? {};
  const failing = [...initContainerStatuses, ...containerStatuses].find(
    (container) => container.name !== RUNTIME_CONTAINER && container.ready !== true && isLooping(container),
  );
  if (failing === undefined) return undefined;
  const { exitCode } = failing.state?.terminated ?? failing.lastState?.terminated ?? {};
  // Its log is not ours to show.
  const how = howItEnds(exitCode === undefined ? {} : { exitCode });
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

/** The container runs, and the pod was ready since it started. */
function readinessFailed(pod: Pod): Cause | undefined {
  const runtime = pod.status?.containerStatuses?.find(({ name }) => name === RUNTIME_CONTAINER);
  const startedAt = runtime?.state?.running?.startedAt;
  const since = sinceOf(pod, 'Ready', 'False');
  if (runtime?.ready !== false || startedAt === undefined || since === undefined || since <= startedAt) {
    return undefined;
  }
  return { reason: 'ReadinessFailed', message: 'The runtime runs, and no longer passes its readiness probe.' };
}

/**
 * An eviction, if the newest pod that ended was evicted in this run, and no pod since was ready.
 *
 * @param pods the newest first @param since when the runtime was created or last resumed
 */
export function evicted(pods: readonly Pod[], since: string): Cause | undefined {
  const at = pods.findIndex(({ status }) => status?.phase === 'Failed');
  const ended = pods[at];
  if (ended?.status?.reason !== EVICTED || pods.slice(0, at).some(wasReady) || endOf(ended) < since) return undefined;
  const why = (ended.status.message ?? '').replaceAll(/\s+/g, ' ').trim();
  return { reason: EVICTED, message: why === '' ? 'The node evicted the pod.' : `The node evicted the pod: ${why}` };
}

const endOf = (pod: Pod): string => sinceOf(pod, 'DisruptionTarget', 'True') ?? pod.metadata.creationTimestamp ?? '';

/** Whether its readiness changed after its container started. */
function wasReady(pod: Pod): boolean {
  const startedAt = pod.status?.containerStatuses?.find(({ name }) => name === RUNTIME_CONTAINER)?.state?.running
    ?.startedAt;
  return startedAt !== undefined && (sinceOf(pod, 'Ready', 'False') ?? '') > startedAt;
}
