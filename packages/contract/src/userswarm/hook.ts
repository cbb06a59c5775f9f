import type { KubernetesObject } from '@uswarm/kube-types';
import { z } from 'zod';
import type { UserSwarm } from './resource.js';

/** The CompositeController v1 hook of Metacontroller, served as `POST /sync`. */

/** `<Kind>.<version>` for the core group, else `<Kind>.<group>/<version>`. */
export const CHILD_GROUPS = ['ServiceAccount.v1', 'Service.v1', 'Deployment.apps/v1'] as const;
export type ChildGroup = (typeof CHILD_GROUPS)[number];

/**
 * Related objects that explain why a runtime is not Ready. Empty with Metacontroller. Events are only warnings about
 * pods without a sandbox, without counts and times.
 */
export const RELATED_GROUPS = ['Pod.v1', 'Namespace.v1', 'Event.v1'] as const;
export type RelatedGroup = (typeof RELATED_GROUPS)[number];

/** By `<namespace>/<name>`, because the parent is cluster-scoped; cluster-scoped objects by name. */
export type ObjectsByKey = Record<string, KubernetesObject>;

/** All five keys and all declared groups of children exist, even if they are empty. */
export interface SyncRequest {
  controller: KubernetesObject;
  parent: UserSwarm;
  children: Record<ChildGroup, ObjectsByKey>;
  related: Partial<Record<RelatedGroup, ObjectsByKey>>;
  finalizing: boolean;
}

/**
 * Headers on each sync hook response: the revision of its configuration and program, and its start time (RFC 3339).
 * With several replicas, the controller uses the revision that started last. Metacontroller ignores them.
 */
export const WEBHOOK_REVISION_HEADER = 'uswarm-webhook-revision';
export const WEBHOOK_STARTED_HEADER = 'uswarm-webhook-started';

const AnyObject = z.looseObject({
  apiVersion: z.string().min(1),
  kind: z.string().min(1),
  metadata: z.looseObject({ name: z.string().min(1), namespace: z.string().min(1).optional() }),
});

/** The response, always with HTTP 200. Any other status is a failure and changes nothing. */
export const SyncResponse = z.strictObject({
  /** Replaces the status. */
  status: z.looseObject({}),
  /** All desired children. Other existing children are deleted. */
  children: z.array(AnyObject),
  /** Seconds until one additional sync. */
  resyncAfterSeconds: z.number().min(0).optional(),
  /** While finalizing: all children are deleted, and the finalizer can be removed. */
  finalized: z.boolean().optional(),
});
export type SyncResponse = z.output<typeof SyncResponse>;
