const UNITS = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
] as const;

/** @param now milliseconds since 1970 */
export function describeAge(date: Date, now: number): string {
  const age = now - date.getTime();
  if (age > 6 * 86_400_000) return date.toLocaleDateString(undefined, { dateStyle: 'medium' });
  const [size, unit] = UNITS.find(([each]) => age >= each) ?? [];
  return size === undefined
    ? 'now'
    : new Intl.RelativeTimeFormat(undefined, { style: 'narrow' }).format(-Math.floor(age / size), unit ?? 'minute');
}
