import { createHash } from 'node:crypto';
import { API_GROUP, UserSwarmSpec } from '@uswarm/contract/userswarm';

// Deployment annotations. A change does not restart the pod.

/** Hash of the last applied pod template; shows whether an observed Deployment is up to date. */
export const REVISION = `${API_GROUP}/template-revision`;
/** The template itself, so that it can be rendered unchanged again. */
export const TEMPLATE = `${API_GROUP}/template`;
/** The platform revision that rendered the template. */
export const PLATFORM_REVISION = `${API_GROUP}/platform-revision`;
/** Hash of the spec that the template was rendered from, without `suspend`. */
export const SPEC_REVISION = `${API_GROUP}/spec-revision`;

/** Pod template annotation with the revision of the Secrets that it reads, so that changed Secrets take effect. */
export const SECRET_REVISION = `${API_GROUP}/secret-revision`;

export const OWN_ANNOTATIONS = [REVISION, PLATFORM_REVISION, SPEC_REVISION, TEMPLATE];

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
