import type { RuntimeObservation, RuntimeSpec } from './drivers/driver.js';
import type { RuntimeRow, RuntimeUpdate } from './runtimes.store.js';

/** What is to be made of a look at a runtime: pure functions. */

/** It runs, and says nothing. */
export const NOT_RESPONDING = 'NotAnswering';
/** Somebody else has suspended it, and it stays so until they let it go. */
export const SUSPENDED_BY_OPERATOR = 'Held';
/** It is suspended for a moment, so that a new revision of the platform can take its place. */
export const NEW_REVISION = 'NewRevision';
/** What was seen is older than what is wanted now. */
const OUTDATED = 'Starting';

/** Where runtimes run cannot be asked. */
const PLATFORM_UNREACHABLE = 'PlatformUnreachable';

/** How often it was seen like this in a row. */
function countObservations(row: RuntimeRow, phase: RuntimeRow['phase'], reason: string): number {
  return row.phase === phase && (row.reason === reason || isSuspendedForRollout(row)) ? row.failures + 1 : 1;
}

/**
 * What is taken to be there where the platform cannot be asked: a runtime that was ready, whose own
 * answer tells how it is. Of any other nothing is known.
 */
export function assumeObservation({ phase, address }: RuntimeRow): RuntimeObservation | undefined {
  return phase === 'Ready' && address !== null ? { phase, reason: '', address, current: true } : undefined;
}

export const isSuspendedForRollout = ({ desired, reason }: RuntimeRow): boolean =>
  desired === 'suspended' && reason === NEW_REVISION;

/** Whether what it made way for is in place, so that it can run again. */
export const isRolloutComplete = (row: RuntimeRow, observed: RuntimeObservation | undefined): boolean =>
  isSuspendedForRollout(row) && observed?.phase === 'Suspended' && observed.current && observed.rollout === undefined;

/** What one look at a runtime makes of it; `observed` is undefined where nothing is known. */
export function nextState(
  row: RuntimeRow,
  observed: RuntimeObservation | undefined,
  instanceId: string | null,
  now: Date,
): RuntimeUpdate {
  const next = seenState(row, observed, instanceId, now);
  // Until it runs again, it has to be known that it is to.
  return isSuspendedForRollout(row) ? { ...next, reason: NEW_REVISION } : next;
}

function seenState(
  row: RuntimeRow,
  observed: RuntimeObservation | undefined,
  instanceId: string | null,
  now: Date,
): RuntimeUpdate {
  // Time in which it was held does not count as time that it took to become ready.
  const released = row.reason === SUSPENDED_BY_OPERATOR ? { wanted_at: now } : {};
  if (observed === undefined) {
    return {
      reason: PLATFORM_UNREACHABLE,
      failures: countObservations(row, row.phase, PLATFORM_UNREACHABLE),
      ...released,
    };
  }
  const { address, reason } = observed;
  const unwell = (phase: RuntimeRow['phase'], cause: string): RuntimeUpdate => ({
    phase,
    reason: cause,
    address,
    failures: countObservations(row, phase, cause),
    silent_since: null,
    ...released,
    // It was well until now: turns that wait for it give it time from here.
    ...(row.phase === 'Ready' && row.silent_since === null && { identified_at: now }),
  });
  if (observed.phase === 'Suspended') {
    const reasonOf = row.desired === 'running' ? SUSPENDED_BY_OPERATOR : '';
    return { phase: 'Suspended', reason: reasonOf, address: null, failures: 0, silent_since: null };
  }
  if (observed.phase !== 'Ready') return unwell(observed.phase, reason);
  const wasReady = row.phase === 'Ready' && row.address === address;
  // A runtime that was just woken may still be the one that is going.
  if (!observed.current && !wasReady) return unwell('Progressing', OUTDATED);
  if (instanceId !== null) {
    const identified = { verified: true, identified_at: now, instance_id: instanceId, silent_since: null };
    return { phase: 'Ready', reason, address, failures: 0, ...identified, ...released };
  }
  // It does not answer just now: a runtime that was ready stays so, and shows as offline after a while.
  if (wasReady) {
    const failures = countObservations(row, 'Ready', NOT_RESPONDING);
    return { failures, reason: NOT_RESPONDING, silent_since: row.silent_since ?? now };
  }
  return unwell('Progressing', NOT_RESPONDING);
}

/** What the platform is told of a runtime. */
export function specOf(row: RuntimeRow): RuntimeSpec {
  const { workspace_id: workspaceId, user_id: userId, desired } = row;
  const suspended = desired === 'suspended';
  // A runtime that is suspended because it is idle must not come back by itself.
  const stays = suspended && !isSuspendedForRollout(row);
  return { workspaceId, userId, suspended, ...(stays ? { rollout: { wanted: false } } : {}) };
}

/**
 * Whether another look would change nothing as long as the runtime answers. `observed` is what `peek` returned; undefined
 * if the runtime is not there.
 */
export function isSettled(row: RuntimeRow, observed: RuntimeObservation | undefined, now: Date): boolean {
  if (row.desired === 'deleted' || observed === undefined || observed.outdated === true) return false;
  if (isRolloutComplete(row, observed) || needsRolloutStep(row, observed)) return false;
  return Object.keys(changesOf(row, nextState(row, observed, row.instance_id ?? '', now), COMPARED)).length === 0;
}

const COMPARED = ['phase', 'reason', 'address'] as const;

/** A new revision waits, and the platform does not know yet that the runtime may be stopped, or wants it stopped now. */
function needsRolloutStep({ desired, phase }: RuntimeRow, { rollout }: RuntimeObservation): boolean {
  return rollout !== undefined && desired === 'running' && phase === 'Ready' && (rollout.granted || !rollout.wanted);
}

/** The fields of the update that differ from what is stored. */
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

/** Milliseconds until a runtime can have been idle for `limitMs` at the earliest; spares asking it. `limitMs` 0 is never. */
export function msUntilIdle(row: RuntimeRow, limitMs: number, now: Date): number {
  if (limitMs === 0 || row.desired !== 'running') return Infinity;
  return Math.max(0, limitMs - (now.getTime() - row.wanted_at.getTime()));
}

/** Seconds that a runtime took to become ready, where this look is the first that finds it so. */
export function secondsToReady(row: RuntimeRow, next: RuntimeUpdate): number | undefined {
  const readyAt = next.identified_at;
  if (next.phase !== 'Ready' || row.phase === 'Ready' || readyAt === null || readyAt === undefined) return undefined;
  if (row.identified_at !== null && row.identified_at >= row.wanted_at) return undefined;
  return Math.max(0, readyAt.getTime() - (next.wanted_at ?? row.wanted_at).getTime()) / 1_000;
}
