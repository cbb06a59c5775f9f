import {
  CHILD_GROUPS,
  type ChildGroup,
  Condition,
  exceedsDepth,
  SyncResponse,
  UserSwarmStatus,
} from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-client';
import { z } from 'zod';

const KINDS: ReadonlySet<string> = new Set(CHILD_GROUPS);

export const groupOf = ({ apiVersion, kind }: KubernetesObject): string => `${kind}.${apiVersion}`;
/** A pod template has less than half of it. */
const MAX_DEPTH = 64;
/** A shorter time would be a busy loop. */
const MIN_RESYNC_S = 0.2;

const isChildGroup = (group: string): group is ChildGroup => KINDS.has(group);

/**
 * Validates a sync hook response. `problem` is stable for equal responses. Decoding follows Metacontroller: unknown
 * keys are ignored, and a null or missing value is the zero value. One rule is stricter: an object with no known key is
 * invalid, because it would delete all children.
 */
export function validateResponse(value: unknown): { answer: SyncResponse } | { problem: string } {
  // First, because everything that reads a response is recursive.
  if (exceedsDepth(value, MAX_DEPTH)) return { problem: `nested deeper than ${MAX_DEPTH} levels` };
  const fields = knownFields(value);
  if (fields === undefined) return { problem: 'not an object with status or children' };
  const parsed = SyncResponse.safeParse(fields);
  if (!parsed.success) return { problem: problemOf(parsed.error) };
  const status = ReceivedStatus.safeParse(parsed.data.status);
  if (!status.success) return { problem: problemOf(status.error, 'status') };
  const seen = new Set<string>();
  for (const child of parsed.data.children as KubernetesObject[]) {
    const { name, namespace } = child.metadata;
    const group = groupOf(child);
    const label = `${group} ${namespace ?? ''}/${name}`;
    if (!isChildGroup(group)) return { problem: `${label} has a kind that is not allowed for children` };
    if (namespace === undefined) return { problem: `${label} has no namespace` };
    if (seen.has(label)) return { problem: `${label} is listed twice` };
    seen.add(label);
    const checked = ReceivedChild.safeParse(child);
    if (!checked.success) return { problem: `${label}: ${problemOf(checked.error)}` };
  }
  return { answer: parsed.data };
}

/** A status that the API server stores; unknown keys are ignored, because a newer webhook may send them. */
const ReceivedStatus = UserSwarmStatus.extend({
  conditions: z
    .array(Condition.extend({ lastTransitionTime: z.iso.datetime({ offset: true }) }).loose())
    .max(16)
    .refine(
      (conditions) => new Set(conditions.map(({ type }) => type)).size === conditions.length,
      'types are listed twice',
    )
    .optional(),
}).loose();

const Texts = z.record(z.string(), z.string()).nullish();
/** The parts of a child that the controller itself reads. The API server judges the rest. */
const ReceivedChild = z.looseObject({
  metadata: z.looseObject({ labels: Texts, annotations: Texts, finalizers: z.array(z.string()).nullish() }),
  spec: z.looseObject({}).nullish(),
});

function problemOf({ issues: [issue] }: z.ZodError, within?: string): string {
  const path = [...(within === undefined ? [] : [within]), ...(issue?.path ?? [])].join('.');
  return `${path}: ${issue?.message ?? 'malformed'}`.replace(/^: /, '');
}

const KEYS = ['status', 'children', 'resyncAfterSeconds', 'finalized'] as const;

const withoutNulls = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null))
    : value;

function knownFields(value: unknown): object | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const given = value as Record<string, unknown>;
  if (!('status' in given || 'children' in given)) return undefined;
  const fields = KEYS.filter((key) => given[key] !== null && given[key] !== undefined).map((key) => [key, given[key]]);
  const { resyncAfterSeconds, ...known } = { status: {}, children: [], ...Object.fromEntries(fields) };
  known.status = withoutNulls(known.status);
  if (resyncAfterSeconds === undefined) return known;
  if (typeof resyncAfterSeconds !== 'number' || resyncAfterSeconds === 0) return { ...known, resyncAfterSeconds };
  // Metacontroller ignores values that are not positive.
  return resyncAfterSeconds < 0 ? known : { ...known, resyncAfterSeconds: Math.max(resyncAfterSeconds, MIN_RESYNC_S) };
}
