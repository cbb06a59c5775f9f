import { z } from 'zod';
import type { ObjectMeta, UserSwarm } from './resource.js';

/** The CompositeController v1 hook of Metacontroller, as `POST /sync` speaks it. */

/** Any Kubernetes object, as JSON. */
export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [field: string]: unknown;
}

/** `<Kind>.<version>` for the core group, else `<Kind>.<group>/<version>`. */
export const CHILD_GROUPS = ['ServiceAccount.v1', 'Service.v1', 'Deployment.apps/v1'] as const;
export type ChildGroup = (typeof CHILD_GROUPS)[number];

/**
 * Beside the children: what explains why a runtime is not Ready. Empty under Metacontroller. Of Events only warnings of
 * pods that get no sandbox, without counts and times.
 */
export const RELATED_GROUPS = ['Pod.v1', 'Namespace.v1', 'Event.v1'] as const;
export type RelatedGroup = (typeof RELATED_GROUPS)[number];

/** By `<namespace>/<name>`, as the parent is cluster-scoped; a cluster-scoped object by its name. */
export type ObjectsByKey = Record<string, KubernetesObject>;

/** All five keys are always there; every declared group of children is, even if empty. */
export interface SyncRequest {
  controller: KubernetesObject;
  parent: UserSwarm;
  children: Record<ChildGroup, ObjectsByKey>;
  related: Partial<Record<RelatedGroup, ObjectsByKey>>;
  finalizing: boolean;
}

/**
 * Headers of each answer of our webhook: which configuration and program rendered it, and when that process started
 * (RFC 3339). With several replicas, the controller uses the revision that started last. Metacontroller ignores them.
 */
export const WEBHOOK_REVISION_HEADER = 'uswarm-webhook-revision';
export const WEBHOOK_STARTED_HEADER = 'uswarm-webhook-started';

const AnyObject = z.looseObject({
  apiVersion: z.string().min(1),
  kind: z.string().min(1),
  metadata: z.looseObject({ name: z.string().min(1), namespace: z.string().min(1).optional() }),
});

/** The answer, always with HTTP 200; anything else is a failure and changes nothing. */
export const SyncResponse = z.strictObject({
  /** Replaces the whole status. */
  status: z.looseObject({}),
  /** Everything that is to exist; what exists and is not in here is deleted. */
  children: z.array(AnyObject),
  /** Seconds; once, besides the regular resync. */
  resyncAfterSeconds: z.number().min(0).optional(),
  /** While finalizing: nothing is left, the finalizer may go. */
  finalized: z.boolean().optional(),
});
export type SyncResponse = z.output<typeof SyncResponse>;
