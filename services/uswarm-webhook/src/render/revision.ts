import { createHash } from 'node:crypto';
import { API_GROUP, UserSwarmSpec } from '@uswarm/contract/userswarm';

// What a Deployment of ours says of itself, in annotations. A change of them restarts no pod.

/** Which pod template was applied last: tells an observed Deployment that is up to date from one that is not. */
export const REVISION = `${API_GROUP}/template-revision`;
/** The template itself, so that it can be rendered once more as it was. */
export const TEMPLATE = `${API_GROUP}/template`;
/** What the platform was when the template was rendered: images, keys, settings and code. */
export const PLATFORM_REVISION = `${API_GROUP}/platform-revision`;
/** What its author wanted when the template was rendered, `suspend` apart. */
export const SPEC_REVISION = `${API_GROUP}/spec-revision`;

/** Of a pod template: what the operator says of the Secrets that it reads, so that changed ones reach it. */
export const SECRET_REVISION = `${API_GROUP}/secret-revision`;

export const OWN_ANNOTATIONS = [REVISION, PLATFORM_REVISION, SPEC_REVISION, TEMPLATE];

/** Short, and another one for any other value. */
export const revisionOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);

/**
 * Of what the author wants. What is as by default does not count: a field that a later version adds
 * with a default must not look like a wish of every author.
 */
export function specRevision({ userId, ...spec }: UserSwarmSpec): string {
  return revisionOf({ userId, ...(deviation({ ...spec, suspend: false }, DEFAULTS) as object) });
}

const { userId: _anyone, ...DEFAULTS } = UserSwarmSpec.parse({ userId: 'anyone' });

/** The fields of `value`, sorted by name, that are not as in `usual`. */
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
