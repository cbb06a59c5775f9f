import { estimateTokens } from '@uswarm/service-kit';

/** Reads untrusted JSON without schemas: a response has hundreds of events. */

type JsonObject = Readonly<Record<string, unknown>>;

export const objectOf = (value: unknown): JsonObject =>
  typeof value === 'object' && value !== null ? (value as JsonObject) : {};

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** A token count; undefined for everything else. */
export const countOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.ceil(value) : undefined;

const MAX_DEPTH = 16;

/** Estimates the tokens of all texts in a value, without field names. */
export function textTokens(value: unknown, depth = 0): number {
  if (typeof value === 'string') return estimateTokens(value);
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return 0;
  return Object.values(value).reduce<number>((sum, part) => sum + textTokens(part, depth + 1), 0);
}
