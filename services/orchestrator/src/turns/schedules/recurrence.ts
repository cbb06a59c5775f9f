import { RRuleTemporal } from 'rrule-temporal';
import { parseRule, type Rule } from './recurrence-rule.js';

/** A schedule's times. */
export interface Recurrence {
  /** A local time, such as `2026-12-04T08:00:00`. */
  startTime: string;
  /** RFC 5545, such as `FREQ=WEEKLY;BYDAY=MO`. Null: once. */
  rrule: string | null;
  /** An IANA name, or an offset such as `+05:30`. */
  timeZone: string;
}

export interface Occurrences {
  /** In ms since the epoch. @returns the first occurrence after `instant`; null if there is none */
  after(instant: number): number | null;
}

const HOUR_MS = 3_600_000;
/** Local times differ from UTC by at most 14 hours, and the largest gap on record is a day. */
const MOST_OFFSET_MS = 39 * HOUR_MS;
/** A rule by minutes that a weekday limits can have to pass a week. Rules without an occurrence end here, too. */
const MOST_PERIODS = 20_000;
const MOST_COMPARED = 60;

const compact = (startTime: string): string => startTime.replaceAll(/[-:]/g, '');

const ruleAt = (startTime: string, rule: string) =>
  new RRuleTemporal({
    rruleString: `DTSTART:${compact(startTime)}Z\nRRULE:${rule}`,
    strict: true,
    maxIterations: MOST_PERIODS,
  });

/** A local time as if it were UTC, with the calendar arithmetic of Temporal. */
const floating = (startTime: string) => ruleAt(startTime, 'FREQ=DAILY').options().dtstart;

/**
 * Clocks skip some local times: then the result is as late as before the change. Of a local time that occurs twice it is
 * the first.
 */
const inZone = (local: ReturnType<typeof floating>, timeZone: string) =>
  local.toPlainDateTime().toZonedDateTime(timeZone, { disambiguation: 'compatible' });

function next(rule: RRuleTemporal, after: number) {
  try {
    return rule.next(new Date(after));
  } catch {
    // It has given up.
    return null;
  }
}

/** Occurrences at local times. The library omits local times that clocks skip, but users expect a run each day. */
function atLocalTimes({ startTime, timeZone }: Recurrence, rule: Rule): Occurrences {
  const local = ruleAt(startTime, rule.text);
  return {
    after(instant) {
      let found: { at: number; until: number } | undefined;
      for (let one = next(local, instant - MOST_OFFSET_MS); one !== null; one = next(local, one.epochMilliseconds)) {
        if (found !== undefined && one.epochMilliseconds >= found.until) break;
        const zoned = inZone(one, timeZone);
        const at = zoned.epochMilliseconds;
        if (at <= instant) continue;
        // A skipped local time moves behind the local times that follow it.
        const until = at + zoned.offsetNanoseconds / 1_000_000;
        if (found === undefined || at < found.at) found = { at, until: Math.max(until, found?.until ?? 0) };
      }
      return found?.at ?? null;
    },
  };
}

/** Hours and minutes are lengths of time: they pass in a skipped hour, and twice in a repeated one. */
function atIntervals({ startTime, timeZone }: Recurrence, rule: Rule): Occurrences {
  const dtstart = inZone(floating(startTime), timeZone);
  const zoned = new RRuleTemporal({
    rruleString: rule.text,
    dtstart,
    tzid: timeZone,
    strict: true,
    maxIterations: MOST_PERIODS,
  });
  return { after: (instant) => next(zoned, instant)?.epochMilliseconds ?? null };
}

const once = ({ startTime, timeZone }: Recurrence): Occurrences => {
  const at = inZone(floating(startTime), timeZone).epochMilliseconds;
  return { after: (instant) => (at > instant ? at : null) };
};

function endOf({ until, untilIsUtc }: Rule, timeZone: string): number {
  if (until === undefined) return Infinity;
  const local = floating(until);
  return untilIsUtc ? local.epochMilliseconds : inZone(local, timeZone).epochMilliseconds;
}

/** @throws InvalidRecurrence */
export function occurrencesOf(recurrence: Recurrence): Occurrences {
  if (recurrence.rrule === null) return once(recurrence);
  const rule = parseRule(recurrence.rrule);
  const occurrences = rule.isByTime ? atIntervals(recurrence, rule) : atLocalTimes(recurrence, rule);
  const end = endOf(rule, recurrence.timeZone);
  return {
    after(instant) {
      const at = occurrences.after(instant);
      return at === null || at > end ? null : at;
    },
  };
}

/** The shortest time in ms between two of the next occurrences; Infinity if there are fewer than two. */
export function shortestInterval(occurrences: Occurrences, from: number): number {
  let shortest = Infinity;
  let last = occurrences.after(from);
  for (let n = 0; last !== null && n < MOST_COMPARED; n += 1) {
    const at = occurrences.after(last);
    if (at !== null) shortest = Math.min(shortest, at - last);
    last = at;
  }
  return shortest;
}
