/** The wait in milliseconds that a response asks for: `retry-after-ms`, or `retry-after` in seconds or as a date. */
export function retryAfterOf(headers: Record<string, string>, now: number): number | undefined {
  const milliseconds = Number(headers['retry-after-ms'] ?? NaN);
  if (milliseconds >= 0) return milliseconds;
  const value = headers['retry-after'];
  if (value === undefined || value.trim() === '') return undefined;
  const seconds = Number(value);
  if (seconds >= 0) return seconds * 1_000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
