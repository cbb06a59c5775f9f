import type { ObjectMeta } from '@uswarm/kube-types';
import { API_GROUP } from './names.js';
import type { UserSwarmStatus } from './resource.js';

/**
 * Annotations by which orchestrator, controller and sync hook coordinate the rollout of a new pod template to a running
 * runtime. docs/adr/0014-roll-out-to-idle-runtimes.md
 */
export const ROLLOUT = {
  /** Set by the orchestrator: the runtime is idle and can be stopped for this revision. */
  wanted: `${API_GROUP}/rollout-wanted`,
  /** Set by the controller: the grant for this revision. */
  revision: `${API_GROUP}/rollout-revision`,
  /** Set by the controller: the grant time, RFC 3339. */
  time: `${API_GROUP}/rollout-time`,
  /** Set by the controller to `true`: the deadline has passed, and the runtime is stopped even if it is busy. */
  forced: `${API_GROUP}/rollout-forced`,
} as const;

export interface RolloutGrant {
  revision: string;
  forced: boolean;
}

/**
 * A waiting runtime's grant. A grant from before the wait is void, because the platform may return to an earlier
 * revision. Condition times are in whole seconds, rounded down.
 */
export function rolloutGrantOf(
  { annotations = {} }: Pick<ObjectMeta, 'annotations'>,
  { conditions = [] }: UserSwarmStatus = {},
): RolloutGrant | undefined {
  const waits = conditions.find(({ type, status }) => type === 'UpToDate' && status === 'False');
  const revision = annotations[ROLLOUT.revision];
  const given = Date.parse(annotations[ROLLOUT.time] ?? '');
  if (revision === undefined || !(given >= Date.parse(waits?.lastTransitionTime ?? ''))) return undefined;
  return { revision, forced: annotations[ROLLOUT.forced] === 'true' };
}

/**
 * Only in requests to the sync hook, set by the controller: `queued` if the start concurrency limit is reached. The
 * controller removes this annotation from the UserSwarm itself.
 */
export const START = `${API_GROUP}/start`;
export const START_QUEUED = 'queued';
