import type { ManagedFields } from '@uswarm/contract/userswarm';

/** Fields of one child that somebody else changes back each time that we put them right. */
export interface Contest {
  /** The fields, as one text. */
  fields: string;
  /** How often in a row we have put them right. */
  rounds: number;
  /** When last, in milliseconds that pass. */
  at: number;
}

/** Milliseconds before the second repair; the pause doubles with each, up to the other. Six in the first minute at most. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** Milliseconds for which a repair has to last for the next one to count as the first again. */
const SETTLED_MS = 60_000;
/** Repairs of the same fields from which on it is worth an Event: one or two are somebody who tries something out. */
export const CONTESTED_ROUNDS = 3;

/** Milliseconds until the fields may be put right again; 0 for now. */
export function pauseOf(known: Contest | undefined, fields: string, now: number): number {
  if (!goesOn(known, fields, now)) return 0;
  const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(known.rounds - 1, 10));
  return Math.max(0, known.at + pause - now);
}

/** What is to be remembered once they have been put right. */
export const nextRound = (known: Contest | undefined, fields: string, now: number): Contest => ({
  fields,
  rounds: goesOn(known, fields, now) ? known.rounds + 1 : 1,
  at: now,
});

const goesOn = (known: Contest | undefined, fields: string, now: number): known is Contest =>
  known !== undefined && known.fields === fields && now - known.at < SETTLED_MS;

/** The paths at which two JSON values differ, as one text; a list of another length counts as a whole. */
export function differences(left: unknown, right: unknown): string {
  return [...pathsOf(left, right, '')].toSorted().join(' ');
}

function* pathsOf(left: unknown, right: unknown, path: string): Generator<string> {
  if (!isBranch(left) || !isBranch(right) || Array.isArray(left) !== Array.isArray(right)) {
    if (left !== right) yield path;
    return;
  }
  if (Array.isArray(left) && Array.isArray(right) && left.length !== right.length) {
    yield path;
    return;
  }
  for (const name of new Set([...Object.keys(left), ...Object.keys(right)])) {
    yield* pathsOf(left[name], right[name], `${path}/${name}`);
  }
}

const isBranch = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** Who else wrote the object last, as `managedFields` tell; status apart. */
export function lastStranger(managedFields: readonly ManagedFields[], ours: string): string | undefined {
  return managedFields
    .filter(({ manager, subresource = '' }) => manager !== ours && subresource === '')
    .toSorted((left, right) => (right.time ?? '').localeCompare(left.time ?? ''))[0]?.manager;
}
