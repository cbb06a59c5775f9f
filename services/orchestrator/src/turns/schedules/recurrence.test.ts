import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { occurrencesOf, type Recurrence, shortestInterval } from './recurrence.js';
import { InvalidRecurrence } from './recurrence-rule.js';

const HOUR_MS = 3_600_000;
const at = (time: string): number => Date.parse(time);

/** The next occurrences, in UTC. */
function times(recurrence: Recurrence, from: string, count: number): string[] {
  const found: string[] = [];
  const occurrences = occurrencesOf(recurrence);
  for (let last: number | null = at(from); found.length < count;) {
    last = occurrences.after(last);
    if (last === null) break;
    found.push(new Date(last).toISOString().replace(':00.000Z', 'Z'));
  }
  return found;
}

const daily = (timeZone: string, startTime: string): Recurrence => ({ startTime, timeZone, rrule: 'FREQ=DAILY' });
const utc = (rrule: string | null, startTime = '2026-01-01T08:00:00'): Recurrence => ({
  startTime,
  rrule,
  timeZone: 'UTC',
});

const FORMATS = new Map<string, Intl.DateTimeFormat>();
/** How far a zone's clocks are ahead of UTC, in ms. Intl knows it without the library. */
function offsetAt(instant: number, timeZone: string): number {
  let format = FORMATS.get(timeZone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-GB', { timeZone, dateStyle: 'short', timeStyle: 'medium', hourCycle: 'h23' });
    FORMATS.set(timeZone, format);
  }
  const [day, month, year, hour, minute, second] = format.format(instant).split(/\D+/).map(Number);
  return Date.UTC(year ?? 0, (month ?? 1) - 1, day, hour, minute, second) - instant;
}

/** The first instant with this local time; behind a change that skips it, as late as before. */
function instantOf(local: number, timeZone: string): number {
  const before = offsetAt(local - 24 * HOUR_MS, timeZone);
  const after = offsetAt(local + 24 * HOUR_MS, timeZone);
  const matching = [local - before, local - after].filter((one) => one + offsetAt(one, timeZone) === local);
  return matching.length === 0 ? local - before : Math.min(...matching);
}

const ZONES = ['America/New_York', 'Europe/Berlin', 'Australia/Lord_Howe', 'America/Santiago'];

describe('the recurrence of a schedule', () => {
  it('keeps its local time when clocks change in either direction', () => {
    expect(times(daily('Europe/Berlin', '2026-03-28T08:00:00'), '2026-03-28T00:00:00Z', 3)).toEqual([
      '2026-03-28T07:00Z',
      '2026-03-29T06:00Z',
      '2026-03-30T06:00Z',
    ]);
    expect(times(daily('America/New_York', '2026-10-31T08:00:00'), '2026-10-31T00:00:00Z', 3)).toEqual([
      '2026-10-31T12:00Z',
      '2026-11-01T13:00Z',
      '2026-11-02T13:00Z',
    ]);
  });

  it('runs later by the gap on a day whose clocks skip its time', () => {
    expect(times(daily('America/New_York', '2026-03-07T02:30:00'), '2026-03-07T00:00:00Z', 3)).toEqual([
      '2026-03-07T07:30Z',
      '2026-03-08T07:30Z',
      '2026-03-09T06:30Z',
    ]);
    // 02:15 becomes 02:45, because this zone changes by half an hour.
    expect(times(daily('Australia/Lord_Howe', '2026-10-04T02:15:00'), '2026-10-03T00:00:00Z', 1)).toEqual([
      '2026-10-03T15:45Z',
    ]);
  });

  it('runs once, the first time, on a day whose clocks repeat its time', () => {
    expect(times(daily('America/New_York', '2026-10-31T01:30:00'), '2026-10-31T00:00:00Z', 3)).toEqual([
      '2026-10-31T05:30Z',
      '2026-11-01T05:30Z',
      '2026-11-02T06:30Z',
    ]);
  });

  it('counts hours as lengths of time, so that a repeated hour has a run and a skipped one has none', () => {
    const hourly = (startTime: string): Recurrence => ({
      startTime,
      timeZone: 'America/New_York',
      rrule: 'FREQ=HOURLY',
    });
    for (const from of ['2026-11-01T04:30:00Z', '2026-03-08T05:30:00Z']) {
      const found = times(hourly('2026-01-01T00:00:00'), from, 4).map(at);
      expect(found.map((one, n) => one - (found[0] ?? 0) - n * HOUR_MS)).toEqual([0, 0, 0, 0]);
    }
  });

  it('runs a rule on 29 February in leap years only', () => {
    expect(times(utc('FREQ=YEARLY', '2024-02-29T08:00:00'), '2026-11-30T00:00:00Z', 2)).toEqual([
      '2028-02-29T08:00Z',
      '2032-02-29T08:00Z',
    ]);
    expect(times(utc('FREQ=MONTHLY;BYMONTHDAY=-1', '2028-01-31T08:00:00'), '2028-02-01T00:00:00Z', 2)).toEqual([
      '2028-02-29T08:00Z',
      '2028-03-31T08:00Z',
    ]);
  });

  it('ends after its count, and after an end in its own zone or in UTC', () => {
    const ends = (rrule: string) =>
      times({ startTime: '2026-06-01T08:00:00', timeZone: 'America/New_York', rrule }, '2026-01-01T00:00:00Z', 9);
    const two = ['2026-06-01T12:00Z', '2026-06-02T12:00Z'];
    expect(ends('FREQ=DAILY;COUNT=2')).toEqual(two);
    expect(ends('FREQ=DAILY;UNTIL=20260602')).toEqual(two);
    expect(ends('FREQ=DAILY;UNTIL=20260602T080000')).toEqual(two);
    expect(ends('FREQ=DAILY;UNTIL=20260602T120000Z')).toEqual(two);
    expect(ends('FREQ=DAILY;UNTIL=20260602T115959Z')).toEqual(two.slice(0, 1));
  });

  it('runs once without a rule', () => {
    expect(times(utc(null, '2026-12-04T08:00:00'), '2026-11-30T00:00:00Z', 3)).toEqual(['2026-12-04T08:00Z']);
  });

  it('accepts a zone that is an offset, and a rule with its name in lower case', () => {
    const rule = { startTime: '2026-12-04T08:00:00', timeZone: '+05:30', rrule: 'rrule:freq=hourly;interval=2' };
    expect(times(rule, '2026-12-01T00:00:00Z', 2)).toEqual(['2026-12-04T02:30Z', '2026-12-04T04:30Z']);
  });

  it('occurs at the local times that Intl confirms, for each zone, day and time around changes of clocks', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...ZONES),
        fc.integer({ min: 2024, max: 2031 }),
        fc.constantFrom(2, 3, 8, 9, 10),
        fc.integer({ min: 1, max: 28 }),
        fc.integer({ min: 0, max: 47 }),
        (timeZone, year, month, day, halfHour) => {
          const start = Date.UTC(year, month, day, 0, halfHour * 30);
          const startTime = new Date(start).toISOString().slice(0, 19);
          const expected = Array.from({ length: 14 }, (_, n) => instantOf(start + n * 24 * HOUR_MS, timeZone));
          const from = new Date(start - 48 * HOUR_MS).toISOString();
          expect(times(daily(timeZone, startTime), from, 14).map(at)).toEqual(expected);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('returns the earliest time after each instant, also if a gap moves times behind later ones', () => {
    const rule = {
      startTime: '2026-03-07T00:00:00',
      timeZone: 'America/New_York',
      rrule: 'FREQ=DAILY;BYHOUR=2,3;BYMINUTE=0,30',
    };
    const found = times(rule, '2026-03-08T04:00:00Z', 5);
    expect(found).toEqual([
      '2026-03-08T07:00Z',
      '2026-03-08T07:30Z',
      '2026-03-09T06:00Z',
      '2026-03-09T06:30Z',
      '2026-03-09T07:00Z',
    ]);
  });

  it.each([
    ['FREQ=DAYLY', 'FREQ is not valid'],
    ['', 'needs a FREQ'],
    ['every day', 'is not a rule part'],
    ['FREQ=DAILY;FOO=1', 'is not a rule part'],
    ['FREQ=SECONDLY', 'FREQ is not valid'],
    ['FREQ=DAILY;INTERVAL=0', 'INTERVAL is not valid'],
    ['FREQ=DAILY;BYHOUR=24', 'BYHOUR is not valid'],
    ['FREQ=DAILY;BYHOUR=8;BYHOUR=9', 'occurs twice'],
    ['FREQ=WEEKLY;BYDAY=MO,,TU', 'BYDAY is not valid'],
    ['FREQ=WEEKLY;BYDAY=1MO', 'BYDAY with a number'],
    ['FREQ=WEEKLY;BYMONTHDAY=1', 'BYMONTHDAY needs'],
    ['FREQ=DAILY;COUNT=2;UNTIL=20270101', 'exclude each other'],
    ['FREQ=DAILY;UNTIL=2027-01-01', 'UNTIL is not valid'],
    ['FREQ=DAILY;UNTIL=20270231', 'UNTIL is not a time'],
    ['FREQ=DAILY\nDTSTART:20200101T000000Z', 'FREQ is not valid'],
    ['FREQ=HOURLY;BYMONTH=1', 'BYMONTH needs'],
    ['FREQ=HOURLY;INTERVAL=2;BYMINUTE=5', 'takes the minute from the start'],
    ['FREQ=MONTHLY;BYSETPOS=1', 'BYSETPOS needs'],
  ])('rejects the rule %s and states why', (rrule, why) => {
    expect(() => occurrencesOf(utc(rrule))).toThrow(InvalidRecurrence);
    expect(() => occurrencesOf(utc(rrule))).toThrow(why);
  });

  it('finds no occurrence of a rule that never matches, instead of searching without end', () => {
    expect(times(utc('FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30'), '2026-01-01T00:00:00Z', 1)).toEqual([]);
    expect(times(utc('FREQ=MINUTELY;BYDAY=MO;BYHOUR=9', '2026-01-01T00:10:00'), '2026-01-05T23:00:00Z', 1)).toEqual([
      '2026-01-12T09:00Z',
    ]);
  });

  it('knows the shortest interval of a rule with unequal ones', () => {
    const from = at('2026-01-01T00:00:00Z');
    expect(shortestInterval(occurrencesOf(utc('FREQ=DAILY;BYHOUR=8,9;BYMINUTE=0,50')), from)).toBe(10 * 60_000);
    expect(shortestInterval(occurrencesOf(utc(null)), from)).toBe(Infinity);
  });
});
