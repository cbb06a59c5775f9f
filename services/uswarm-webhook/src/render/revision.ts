import { createHash } from 'node:crypto';
import { UserSwarmSpec } from '@uswarm/contract/userswarm';

/** A short hash. */
export const revisionOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);

/**
 * Hash of a spec without fields that equal their default: a field that a later version adds with a default must not
 * count as a change by the author.
 */
export function specRevision({ userId, ...spec }: UserSwarmSpec): string {
  return revisionOf({ userId, ...(deviation({ ...spec, suspend: false }, DEFAULTS) as object) });
}

const { userId: _anyone, ...DEFAULTS } = UserSwarmSpec.parse({ userId: 'anyone' });

/** The fields of `value` that differ from `usual`, sorted by name. */
function deviation(value: unknown, usual: unknown): unknown {
  if (!isFields(value)) return value;
  const known = isFields(usual) ? usual : {};
  const fields = Object.entries(value)
    .filter(([name, field]) => field !== undefined && field !== known[name])
    .map(([name, field]) => [name, deviation(field, known[name])] as const)
    .filter(([, field]) => !isFields(field) || Object.keys(field).length > 0);
  return Object.fromEntries(fields.toSorted(([left], [right]) => (left < right ? -1 : 1)));
}

const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
