/**
 * Characters that people do not see but models and terminals obey: controls (but tab and newline),
 * format characters (zero-width, bidirectional, soft hyphen, tags), line separators, and variation
 * selectors, which can carry hidden text.
 */
const INVISIBLE = /(?![\t\n])(?:\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}|\p{Variation_Selector})/gu;

/** Text from outside, without characters that hide or reorder. */
export function visibleText(text: string): string {
  return text.toWellFormed().replace(INVISIBLE, '');
}

/** The same for every string, and every key, of a JSON value. */
export function visibleJson(value: unknown): unknown {
  if (typeof value === 'string') return visibleText(value);
  if (Array.isArray(value)) return value.map(visibleJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [visibleText(key), visibleJson(entry)]));
}

/** At most `maxBytes` of UTF-8, never half a character; says so when something was cut. */
export function capped(text: string, maxBytes: number): string {
  const bytes = new TextEncoder().encode(text);
  if (bytes.byteLength <= maxBytes) return text;
  // A character cut in half decodes to nothing while the decoder still waits for the rest of it.
  const kept = new TextDecoder().decode(bytes.subarray(0, maxBytes), { stream: true });
  return `${kept}\n[cut: the result was longer than ${maxBytes} bytes]`;
}
