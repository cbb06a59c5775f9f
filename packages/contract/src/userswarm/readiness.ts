import type { UserSwarmStatus } from './resource.js';

/** Seconds in which a pod must become ready, else its reason is `StartDeadlineExceeded`. */
export const START_DEADLINE_S = 300;

/**
 * When a runtime lost `Ready`, as RFC 3339. Undefined if it is Ready, and if it has not been Ready since it was created or
 * resumed: then `Ready` did not change after `Suspended: False`.
 */
export function readyUntil({ conditions = [] }: UserSwarmStatus = {}): string | undefined {
  const ready = conditions.find(({ type }) => type === 'Ready');
  const suspended = conditions.find(({ type }) => type === 'Suspended');
  if (ready?.status !== 'False' || suspended?.status !== 'False') return undefined;
  return ready.lastTransitionTime > suspended.lastTransitionTime ? ready.lastTransitionTime : undefined;
}
