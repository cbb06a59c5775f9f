import type { RuntimeObservation, RuntimeSpec } from '../runtimes/drivers/driver.js';
import type { ListedRuntime, RuntimeRow, RuntimeUpdate } from './runtimes.store.js';

/** Derives a runtime's stored state from its row and an observation. Pure functions. */

export const NOT_RESPONDING = 'NotAnswering';
/** An operator has suspended the runtime. It stays suspended until the operator resumes it. */
export const SUSPENDED_BY_OPERATOR = 'Held';
/** The runtime is suspended for a rollout, and is resumed afterwards. */
export const NEW_REVISION = 'NewRevision';
/** The start waits for other runtimes. */
export const QUEUED = 'Queued';
const OUTDATED = 'Starting';

const PLATFORM_UNREACHABLE = 'PlatformUnreachable';

/** Counts consecutive observations with the same phase and reason. */
function countObservations(row: RuntimeRow, phase: RuntimeRow['phase'], reason: string): number {
  return row.phase === phase && (row.reason === reason || isSuspendedForRollout(row)) ? row.failures + 1 : 1;
}

/**
 * Observation to assume while the platform is unreachable. A runtime that was ready can still be identified; nothing is
 * known about any other.
 */
export function assumeObservation({ phase, address }: RuntimeRow): RuntimeObservation | undefined {
  return phase === 'Ready' && address !== null
    ? { phase, reason: '', address, current: true, assumed: true }
    : undefined;
}

export const isSuspendedForRollout = ({ desired, reason }: RuntimeRow): boolean =>
  desired === 'suspended' && reason === NEW_REVISION;

/** After it, the runtime can be resumed. */
export const isRolloutComplete = (row: RuntimeRow, observed: RuntimeObservation | undefined): boolean =>
  isSuspendedForRollout(row) && observed?.phase === 'Suspended' && observed.current && observed.rollout === undefined;

/** For a starting runtime that responds: the platform reports it as ready later. */
export const respondingAt = (observed: RuntimeObservation, address: string): RuntimeObservation => ({
  ...observed,
  phase: 'Ready',
  reason: '',
  address,
});

/**
 * @param observed undefined if nothing is known about the runtime
 * @param instanceId null if the runtime did not answer `Identify`
 */
export function nextState(
  row: RuntimeRow,
  observed: RuntimeObservation | undefined,
  instanceId: string | null,
  now: Date,
): RuntimeUpdate {
  const next = observedState(row, observed, instanceId, now);
  // The reason stays until the runtime is resumed: it causes the resume.
  return isSuspendedForRollout(row) ? { ...next, reason: NEW_REVISION } : next;
}

function observedState(
  row: RuntimeRow,
  observed: RuntimeObservation | undefined,
  instanceId: string | null,
  now: Date,
): RuntimeUpdate {
  // Time suspended by an operator does not count as start time.
  const released = row.reason === SUSPENDED_BY_OPERATOR ? { wanted_at: now } : {};
  if (observed === undefined) {
    return {
      reason: PLATFORM_UNREACHABLE,
      failures: countObservations(row, row.phase, PLATFORM_UNREACHABLE),
      ...released,
    };
  }
  const { address, reason } = observed;
  const silentSince = row.silent_since ?? now;
  const unhealthy = (phase: RuntimeRow['phase'], cause: string): RuntimeUpdate => ({
    phase,
    reason: cause,
    address,
    failures: countObservations(row, phase, cause),
    silent_since: null,
    ...released,
    // The runtime was healthy until now: the timeout for waiting turns starts at this time.
    ...(row.phase === 'Ready' && row.silent_since === null && { identified_at: now }),
  });
  if (observed.phase === 'Suspended') {
    const reasonOf = row.desired === 'running' ? SUSPENDED_BY_OPERATOR : '';
    return { phase: 'Suspended', reason: reasonOf, address: null, failures: 0, silent_since: null };
  }
  if (observed.phase !== 'Ready') return unhealthy(observed.phase, reason);
  const wasReady = row.phase === 'Ready' && row.address === address;
  // After a resume, the Ready pod may still be the suspended one.
  if (!observed.current && !wasReady) return unhealthy('Progressing', OUTDATED);
  if (instanceId !== null) {
    const identified = { verified: true, identified_at: now, instance_id: instanceId, silent_since: null };
    return { phase: 'Ready', reason, address, failures: 0, ...identified, ...released };
  }
  // A Ready runtime that does not respond stays Ready. Clients see it as offline after a delay.
  if (wasReady) {
    const failures = countObservations(row, 'Ready', NOT_RESPONDING);
    return { failures, reason: NOT_RESPONDING, silent_since: silentSince };
  }
  return { ...unhealthy('Progressing', NOT_RESPONDING), silent_since: silentSince };
}

export function specOf(row: RuntimeRow): RuntimeSpec {
  const { workspace_id: workspaceId, user_id: userId, desired } = row;
  const suspended = desired === 'suspended';
  // A rollout must not resume a runtime that is suspended for idleness.
  const staysSuspended = suspended && !isSuspendedForRollout(row);
  return {
    workspaceId,
    userId,
    suspended,
    ...(staysSuspended ? { rollout: { requested: false } } : {}),
    // The check that finds an unresponsive runtime reports it, and not before some time has passed.
    ...(row.silent_since === null ? { unreachableSince: null } : {}),
  };
}

/** A runtime that the platform finds ready is reported as unreachable after this time without a response. */
export const UNREACHABLE_AFTER_MS = 30_000;

/** True if the platform must show that the runtime is silent. */
export const isLongSilent = ({ silent_since: since }: RuntimeRow, now: Date): boolean =>
  since !== null && now.getTime() - since.getTime() >= UNREACHABLE_AFTER_MS;

/**
 * True if a reconcile would change nothing while the runtime responds.
 *
 * @param observed the result of `peek`; undefined if the runtime does not exist
 */
export function isSettled(row: RuntimeRow, observed: RuntimeObservation | undefined, now: Date): boolean {
  if (row.desired === 'deleted' || observed === undefined || observed.outdated === true) return false;
  if (isRolloutComplete(row, observed) || needsRolloutStep(row, observed)) return false;
  const { startingAddress } = observed;
  const isCalled = row.phase === 'Ready' && startingAddress !== undefined && row.address === startingAddress;
  const responding = isCalled ? respondingAt(observed, startingAddress) : observed;
  return Object.keys(changesOf(row, nextState(row, responding, row.instance_id ?? '', now), COMPARED)).length === 0;
}

/** True if a reconcile would change something, such as for a turn that waits for the runtime. */
export function needsReconcile(row: ListedRuntime, observed: RuntimeObservation | undefined, now: Date): boolean {
  const waits = row.turnWaits && (row.desired === 'suspended' || observed?.startingAddress !== undefined);
  return waits || !isSettled(row, observed, now);
}

const COMPARED = ['phase', 'reason', 'address'] as const;

/** True if a revision is pending, and its rollout is either not requested yet or already granted. */
function needsRolloutStep({ desired, phase }: RuntimeRow, { rollout }: RuntimeObservation): boolean {
  return rollout !== undefined && desired === 'running' && phase === 'Ready' && (rollout.granted || !rollout.requested);
}

/** Omits fields that equal the stored row. */
export function changesOf(
  row: RuntimeRow,
  update: RuntimeUpdate,
  fields: readonly (keyof RuntimeUpdate)[] = Object.keys(update) as (keyof RuntimeUpdate)[],
): RuntimeUpdate {
  const differs = fields.filter((field) => {
    const next = update[field];
    return next !== undefined && valueOf(next) !== valueOf(row[field]);
  });
  return Object.fromEntries(differs.map((field) => [field, update[field]]));
}

const valueOf = (value: RuntimeUpdate[keyof RuntimeUpdate]) => (value instanceof Date ? value.getTime() : value);

/** Earliest time, in ms from now, at which the runtime can reach the idle limit; a limit of 0 disables it. */
export function msUntilIdle(row: RuntimeRow, limitMs: number, now: Date): number {
  if (limitMs === 0 || row.desired !== 'running') return Infinity;
  return Math.max(0, limitMs - (now.getTime() - row.wanted_at.getTime()));
}

/** Undefined unless this update makes the runtime ready for the first time. */
export function secondsToReady(row: RuntimeRow, next: RuntimeUpdate): number | undefined {
  const readyAt = next.identified_at;
  if (next.phase !== 'Ready' || row.phase === 'Ready' || readyAt === null || readyAt === undefined) return undefined;
  if (row.identified_at !== null && row.identified_at >= row.wanted_at) return undefined;
  return Math.max(0, readyAt.getTime() - (next.wanted_at ?? row.wanted_at).getTime()) / 1_000;
}

/** True if the runtime is identified periodically for release 0.2 replicas. */
export const isPolled = ({ polled_until: until, phase }: RuntimeRow, now: Date): boolean =>
  phase === 'Ready' && until !== null && until > now;
