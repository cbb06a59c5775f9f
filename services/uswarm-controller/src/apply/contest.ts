import type { ManagedFields } from '@uswarm/kube-client';

/** Fields of one child that another client changes back after each correction. */
export interface Contest {
  /** The fields, as one text. */
  fields: string;
  /** Number of consecutive corrections. */
  rounds: number;
  /** Last correction, in monotonic milliseconds. */
  at: number;
}

/** Pause before the second correction, in milliseconds. It doubles up to the maximum: at most six in the first minute. */
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;
/** Milliseconds without a correction after which the count restarts. */
const SETTLED_MS = 60_000;
/** Number of corrections that records an Event. One or two are usually a manual experiment. */
export const CONTESTED_ROUNDS = 3;

/** Milliseconds until the fields may be corrected again; 0 for immediately. */
export function pauseOf(known: Contest | undefined, fields: string, now: number): number {
  if (!isSameContest(known, fields, now)) return 0;
  const pause = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(known.rounds - 1, 10));
  return Math.max(0, known.at + pause - now);
}

/** The contest after another correction. */
export const nextRound = (known: Contest | undefined, fields: string, now: number): Contest => ({
  fields,
  rounds: isSameContest(known, fields, now) ? known.rounds + 1 : 1,
  at: now,
});

const isSameContest = (known: Contest | undefined, fields: string, now: number): known is Contest =>
  known !== undefined && known.fields === fields && now - known.at < SETTLED_MS;

/** The paths at which two JSON values differ, as one text; lists of different lengths differ as a whole. */
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

/** The last other field manager that wrote the object, according to `managedFields`; ignores status writes. */
export function lastOtherManager(managedFields: readonly ManagedFields[], ours: string): string | undefined {
  return managedFields
    .filter(({ manager, subresource = '' }) => manager !== ours && subresource === '')
    .toSorted((left, right) => (right.time ?? '').localeCompare(left.time ?? ''))[0]?.manager;
}
