import { API_GROUP } from './names.js';
import type { ObjectMeta, UserSwarmStatus } from './resource.js';

/**
 * Annotations by which orchestrator, controller and webhook agree on when a running runtime gets a new
 * pod template. docs/adr/0014-roll-out-to-idle-runtimes.md
 */
export const ROLLOUT = {
  /** By the orchestrator: the runtime is idle, and may be stopped for this revision. */
  wanted: `${API_GROUP}/rollout-wanted`,
  /** By the controller: the go-ahead for this revision. */
  revision: `${API_GROUP}/rollout-revision`,
  /** By the controller: when the go-ahead was given, RFC 3339. */
  time: `${API_GROUP}/rollout-time`,
  /** By the controller, `true`: the runtime waited too long, and is stopped whatever it does. */
  forced: `${API_GROUP}/rollout-forced`,
} as const;

export interface RolloutGrant {
  revision: string;
  forced: boolean;
}

/**
 * The go-ahead that a runtime has while it waits. One from before it began to wait is used up: the platform
 * may come back to its revision. The times of conditions are in whole seconds, rounded down.
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
 * In the webhook's request alone, by the controller: `queued` where as many runtimes start as may start at once.
 * What somebody wrote into the UserSwarm is never passed on.
 */
export const START = `${API_GROUP}/start`;
export const START_QUEUED = 'queued';
