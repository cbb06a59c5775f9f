import { canonicalTimeZone } from '@uswarm/contract';
import {
  type Occurrences,
  occurrencesOf,
  type Recurrence,
  shortestInterval,
} from '../../turns/schedules/recurrence.js';
import { InvalidRecurrence, isLocalTime } from '../../turns/schedules/recurrence-rule.js';

/** Names the field and the rule, so that a client or a model can repair it. */
export class InvalidTimes extends Error {
  override name = 'InvalidTimes';
  field: keyof GivenTimes;
  constructor(field: keyof GivenTimes, message: string) {
    super(message);
    this.field = field;
  }
}

export interface GivenTimes {
  start_time: string;
  rrule: string | null;
  time_zone: string;
}

export interface PlannedTimes {
  recurrence: Recurrence;
  /** In ms. */
  next: number;
}

/** Null: the last one is over. */
export type CheckedTimes = Pick<PlannedTimes, 'recurrence'> & { next: number | null };

const LOCAL_TIME = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d)?(?:\.0+)?$/i;
const FIRST_YEAR = 2000;
const LAST_YEAR = 2199;

function localTime(text: string): string {
  const [, day, time, seconds = ':00'] = LOCAL_TIME.exec(text.trim()) ?? [];
  const local = `${day}T${time}${seconds}`;
  const year = Number(local.slice(0, 4));
  if (day === undefined || !isLocalTime(local) || year < FIRST_YEAR || year > LAST_YEAR)
    throw new InvalidTimes(
      'start_time',
      'must be a local time without an offset, such as 2026-12-04T08:00; time_zone has its zone',
    );
  return local;
}

function parsed(recurrence: Recurrence): Occurrences {
  try {
    return occurrencesOf(recurrence);
  } catch (error) {
    if (error instanceof InvalidRecurrence) throw new InvalidTimes('rrule', error.message);
    throw error;
  }
}

/** A time as the zone's clocks show it. */
export const localAt = (instant: number, timeZone: string): string =>
  new Date(instant).toLocaleString('sv-SE', { timeZone }).replace(' ', 'T');

/**
 * Checks when a schedule runs. Pure.
 *
 * @param shortestS least seconds between two runs
 * @throws InvalidTimes
 */
export function checkedTimes(given: GivenTimes, now: number, shortestS: number): CheckedTimes {
  const timeZone = canonicalTimeZone(given.time_zone);
  if (timeZone === undefined)
    throw new InvalidTimes('time_zone', `“${given.time_zone.slice(0, 60)}” is not an IANA zone such as Europe/Berlin`);
  const startTime = localTime(given.start_time);
  const rrule =
    given.rrule
      ?.trim()
      .toUpperCase()
      .replace(/^RRULE:/, '') ?? null;
  const recurrence = { startTime, rrule: rrule === '' ? null : rrule, timeZone };
  const occurrences = parsed(recurrence);
  if (shortestInterval(occurrences, now) < shortestS * 1_000)
    throw new InvalidTimes('rrule', `two runs must be at least ${Math.ceil(shortestS / 60)} minutes apart`);
  return { recurrence, next: occurrences.after(now) };
}

/**
 * As `checkedTimes`, for a schedule that will run.
 *
 * @throws InvalidTimes
 */
export function plannedTimes(given: GivenTimes, now: number, shortestS: number): PlannedTimes {
  const { recurrence, next } = checkedTimes(given, now, shortestS);
  if (next !== null) return { recurrence, next };
  const { startTime, rrule, timeZone } = recurrence;
  const reason = `it is ${localAt(now, timeZone)} in ${timeZone} now`;
  if (rrule === null) throw new InvalidTimes('start_time', `${startTime} is in the past: ${reason}`);
  throw new InvalidTimes('rrule', `the rule has no time after now; ${reason}`);
}

/** The first time after an instant, of times that were checked. */
export const nextOf = (
  { start_time: startTime, rrule, time_zone: timeZone }: GivenTimes,
  after: number,
): number | null => occurrencesOf({ startTime, rrule, timeZone }).after(after);
