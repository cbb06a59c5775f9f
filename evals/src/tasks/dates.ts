const DAY_MS = 86_400_000;

/** `@{+1}` is the date of tomorrow in the time zone, `@{+1 weekday}` the name of its day. */
function withDates(text: string, now: Date, timeZone: string): string {
  return text.replaceAll(/@\{\+(\d+)( weekday)?\}/g, (_, days: string, weekday: string | undefined) => {
    const today = new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' }).format(now);
    const day = new Date(Date.parse(`${today}T00:00:00Z`) + Number(days) * DAY_MS);
    return weekday === undefined
      ? day.toISOString().slice(0, 10)
      : new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', weekday: 'long' }).format(day);
  });
}

/** Replaces the dates in all strings within a value. */
export function datesIn(value: unknown, now: Date, timeZone: string): unknown {
  if (typeof value === 'string') return withDates(value, now, timeZone);
  if (Array.isArray(value)) return value.map((entry) => datesIn(entry, now, timeZone));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, datesIn(entry, now, timeZone)]));
}
