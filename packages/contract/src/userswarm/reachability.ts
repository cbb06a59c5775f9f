import type { ObjectMeta } from '@uswarm/kube-types';
import { API_GROUP } from './names.js';

/**
 * Set by the orchestrator while it cannot reach a runtime that Kubernetes reports as ready: since when, RFC 3339. The sync
 * hook shows it as the condition `Reachable`, so that only one program writes the status.
 */
export const UNREACHABLE_SINCE = `${API_GROUP}/unreachable-since`;

/** The condition exists only while the orchestrator reports that it cannot reach the runtime. */
export const REACHABLE_CONDITION = 'Reachable' as const;

/** Since when the orchestrator cannot reach the runtime, in whole seconds; undefined if it reports nothing. */
export function unreachableSince({ annotations = {} }: Pick<ObjectMeta, 'annotations'>): string | undefined {
  const since = new Date(annotations[UNREACHABLE_SINCE] ?? '');
  return Number.isNaN(since.getTime()) ? undefined : `${since.toISOString().slice(0, 19)}Z`;
}
