import type { Pod } from '../explain/objects.js';

/** The container that keeps a pod from being ready. */
export interface BrokenContainer {
  pod: Pod;
  container: string;
  /** True if the previous run's log explains more than the current one. */
  previous: boolean;
  /** A container that has never run has no log. */
  hasLog: boolean;
  /** Log lines that the kubelet stored with the last termination. */
  lastWords: string | null;
}

/** Picks the newest pod that is not terminating, and its first container that is not ready. */
export function brokenContainer(pods: readonly Pod[]): BrokenContainer | undefined {
  const pod = currentPod(pods);
  const container = pod?.status?.containerStatuses?.find(({ ready }) => ready !== true);
  if (pod === undefined || container === undefined) return undefined;
  const { state = {}, lastState = {}, restartCount = 0 } = container;
  const hasEnded = lastState.terminated !== undefined;
  return {
    pod,
    container: container.name,
    // A container that waits to be restarted has only the log of its previous run.
    previous: state.terminated === undefined && hasEnded,
    hasLog: state.running !== undefined || state.terminated !== undefined || hasEnded || restartCount > 0,
    lastWords: state.terminated?.message ?? lastState.terminated?.message ?? null,
  };
}

/** The newest pod that is not terminating, else the newest. */
function currentPod(pods: readonly Pod[]): Pod | undefined {
  const newestFirst = pods.toSorted((left, right) =>
    (right.metadata.creationTimestamp ?? '').localeCompare(left.metadata.creationTimestamp ?? ''),
  );
  return newestFirst.find(({ metadata }) => metadata.deletionTimestamp === undefined) ?? newestFirst[0];
}
