/**
 * Invisible characters that affect models and terminals: controls except tab and newline, format characters (zero-width,
 * bidirectional, soft hyphen, tags), line separators, and variation selectors, which can encode hidden text.
 */
const INVISIBLE = /(?![\t\n])(?:\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}|\p{Variation_Selector})/gu;

/** Removes characters that hide or reorder text. */
export function visibleText(text: string): string {
  return text.toWellFormed().replace(INVISIBLE, '');
}

/** The same for all strings and keys of a JSON value. */
export function visibleJson(value: unknown): unknown {
  if (typeof value === 'string') return visibleText(value);
  if (Array.isArray(value)) return value.map(visibleJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [visibleText(key), visibleJson(entry)]));
}

/** Truncates to `maxBytes` of UTF-8 at a character boundary, and marks truncated text. */
export function capped(text: string, maxBytes: number): string {
  const bytes = new TextEncoder().encode(text);
  if (bytes.byteLength <= maxBytes) return text;
  // In stream mode, the decoder drops an incomplete character at the end.
  const kept = new TextDecoder().decode(bytes.subarray(0, maxBytes), { stream: true });
  return `${kept}\n[cut: the result was longer than ${maxBytes} bytes]`;
}
