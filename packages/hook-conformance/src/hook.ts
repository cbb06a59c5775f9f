import { SyncResponse, type SyncRequest } from '@uswarm/contract/userswarm';
import { GROUP_OF_KIND, hookKey } from './objects.js';

/** The hook under test: the program behind `POST /sync`. It rejects for any response except 200. */
export type Hook = (request: SyncRequest) => Promise<unknown>;

/** A response that a controller must not act on. */
export class HookFault extends Error {
  override name = 'HookFault';
}

/** Fields that only the API server and the controller write. */
const FOREIGN_FIELDS = [
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'managedFields',
  'ownerReferences',
];

/**
 * Parses a response and checks it against the protocol.
 *
 * @throws HookFault with the first violation
 */
export function checkResponse(request: SyncRequest, answer: unknown): SyncResponse {
  const parsed = SyncResponse.safeParse(answer);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new HookFault(`the response is malformed at ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`);
  }
  const { children, finalized } = parsed.data;
  if (containsNull(children)) throw new HookFault('a child contains null');
  const seen = new Set<string>();
  for (const child of children) {
    const group = GROUP_OF_KIND[child.kind];
    const key = `${group} ${hookKey(child)}`;
    if (group === undefined) throw new HookFault(`a child of an undeclared kind: ${child.kind}`);
    if (child.metadata.namespace === undefined) throw new HookFault(`a child without a namespace: ${key}`);
    if (seen.has(key)) throw new HookFault(`the same child twice: ${key}`);
    seen.add(key);
    if (child['status'] !== undefined) throw new HookFault(`a child with a status: ${key}`);
    const foreign = FOREIGN_FIELDS.find((field) => child.metadata[field] !== undefined);
    if (foreign !== undefined) throw new HookFault(`a child with metadata.${foreign}: ${key}`);
  }
  const present = Object.values(request.children).some((group) => Object.keys(group).length > 0);
  if (finalized === true && (present || !request.finalizing)) {
    throw new HookFault('finalized while children are present, or while nothing is being finalized');
  }
  return parsed.data;
}

function containsNull(value: unknown): boolean {
  if (value === null) return true;
  return typeof value === 'object' && Object.values(value).some(containsNull);
}
