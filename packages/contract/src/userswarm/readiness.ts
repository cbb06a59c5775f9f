import type { UserSwarmStatus } from './resource.js';

/** Seconds that a pod may take to become ready before `StartDeadlineExceeded` shows. */
export const START_DEADLINE_S = 300;

/**
 * When a runtime lost `Ready`, as RFC 3339. Undefined for one that is Ready, and for one that has not been Ready
 * since it was created or last resumed: its `Ready` is not younger than its `Suspended: False`.
 */
export function readyUntil({ conditions = [] }: UserSwarmStatus = {}): string | undefined {
  const ready = conditions.find(({ type }) => type === 'Ready');
  const suspended = conditions.find(({ type }) => type === 'Suspended');
  if (ready?.status !== 'False' || suspended?.status !== 'False') return undefined;
  return ready.lastTransitionTime > suspended.lastTransitionTime ? ready.lastTransitionTime : undefined;
}
