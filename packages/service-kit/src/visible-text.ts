import { UNPRINTABLE_IN_LINES } from './unsafe-characters.js';

/** Removes characters that hide or reorder text, for models. */
export function visibleText(text: string): string {
  return text.toWellFormed().replaceAll(UNPRINTABLE_IN_LINES, '');
}

/** The same for all strings and keys in a JSON value. */
export function visibleJson(value: unknown): unknown {
  if (typeof value === 'string') return visibleText(value);
  if (Array.isArray(value)) return value.map(visibleJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [visibleText(key), visibleJson(entry)]));
}

/**
 * Truncates to `maxBytes` of UTF-8 at a character boundary, and marks truncated text with the limit for the whole text.
 */
export function capped(text: string, maxBytes: number, limit = maxBytes): string {
  const bytes = new TextEncoder().encode(text);
  if (bytes.byteLength <= maxBytes) return text;
  // In stream mode, the decoder drops an incomplete character at the end.
  const kept = new TextDecoder().decode(bytes.subarray(0, maxBytes), { stream: true });
  return `${kept}\n[cut: the result was longer than ${limit} bytes]`;
}
