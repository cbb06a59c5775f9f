import type { RuntimeObservation } from './runtime-driver.js';
import type { RuntimeRow, RuntimeUpdate } from './runtimes.store.js';

/** What is to be made of a look at a runtime: pure functions. */

/** It runs, and says nothing. */
export const NOT_ANSWERING = 'NotAnswering';
/** Somebody else has suspended it, and it stays so until they let it go. */
export const HELD = 'Held';
/** It is suspended for a moment, so that a new revision of the platform can take its place. */
export const NEW_REVISION = 'NewRevision';
/** What was seen is older than what is wanted now. */
const OUTDATED = 'Starting';

/** Where runtimes run cannot be asked. */
const PLATFORM_UNREACHABLE = 'PlatformUnreachable';

/** How often it was seen like this in a row. */
function countLooks(row: RuntimeRow, phase: RuntimeRow['phase'], reason: string): number {
  return row.phase === phase && (row.reason === reason || isMakingWay(row)) ? row.failures + 1 : 1;
}

/**
 * What is taken to be there where the platform cannot be asked: a runtime that was ready, whose own
 * answer tells how it is. Of any other nothing is known.
 */
export function assumed({ phase, address }: RuntimeRow): RuntimeObservation | undefined {
  return phase === 'Ready' && address !== null ? { phase, reason: '', address, current: true } : undefined;
}

export const isMakingWay = ({ desired, reason }: RuntimeRow): boolean =>
  desired === 'suspended' && reason === NEW_REVISION;

/** Whether what it made way for is in place, so that it can run again. */
export const isReplaced = (row: RuntimeRow, observed: RuntimeObservation | undefined): boolean =>
  isMakingWay(row) && observed?.phase === 'Suspended' && observed.current && observed.rollout === undefined;

/** What one look at a runtime makes of it; `observed` is undefined where nothing is known. */
export function nextState(
  row: RuntimeRow,
  observed: RuntimeObservation | undefined,
  instanceId: string | null,
  now: Date,
): RuntimeUpdate {
  const next = seenState(row, observed, instanceId, now);
  // Until it runs again, it has to be known that it is to.
  return isMakingWay(row) ? { ...next, reason: NEW_REVISION } : next;
}

function seenState(
  row: RuntimeRow,
  observed: RuntimeObservation | undefined,
  instanceId: string | null,
  now: Date,
): RuntimeUpdate {
  if (observed === undefined) {
    return { reason: PLATFORM_UNREACHABLE, failures: countLooks(row, row.phase, PLATFORM_UNREACHABLE) };
  }
  const { address, reason } = observed;
  const unwell = (phase: RuntimeRow['phase'], cause: string): RuntimeUpdate => ({
    phase,
    reason: cause,
    address,
    failures: countLooks(row, phase, cause),
  });
  if (observed.phase === 'Suspended') {
    const held = row.desired === 'running';
    // While it is held nobody can expect it to become ready.
    return {
      phase: 'Suspended',
      reason: held ? HELD : '',
      address: null,
      failures: 0,
      ...(held && { wanted_at: now }),
    };
  }
  if (observed.phase !== 'Ready') return unwell(observed.phase, reason);
  const wasReady = row.phase === 'Ready' && row.address === address;
  // A runtime that was just woken may still be the one that is going.
  if (!observed.current && !wasReady) return unwell('Progressing', OUTDATED);
  if (instanceId !== null) {
    const identified = { verified: true, identified_at: now, instance_id: instanceId };
    return { phase: 'Ready', reason, address, failures: 0, ...identified };
  }
  // It does not answer just now: a runtime that was ready stays so, and shows as offline after a while.
  if (wasReady) return { failures: countLooks(row, 'Ready', NOT_ANSWERING), reason: NOT_ANSWERING };
  return unwell('Progressing', NOT_ANSWERING);
}

/** Whether a runtime can have been idle for so long at all; spares asking it. `limitMs` 0 is never. */
export function mayBeIdle(row: RuntimeRow, limitMs: number, now: Date): boolean {
  return limitMs > 0 && row.desired === 'running' && now.getTime() - row.wanted_at.getTime() >= limitMs;
}

/** Seconds that a runtime took to become ready, where this look is the first that finds it so. */
export function secondsToReady(row: RuntimeRow, next: RuntimeUpdate): number | undefined {
  const readyAt = next.identified_at;
  if (next.phase !== 'Ready' || row.phase === 'Ready' || readyAt === null || readyAt === undefined) return undefined;
  if (row.identified_at !== null && row.identified_at >= row.wanted_at) return undefined;
  return Math.max(0, readyAt.getTime() - row.wanted_at.getTime()) / 1_000;
}
