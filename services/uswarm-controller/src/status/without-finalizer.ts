import { type Condition, deletionMessage, foreignFinalizers } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-client';
import type { Status } from './merge.js';

/**
 * Status of a UserSwarm in deletion after the controller has removed its finalizer: the last status would name objects
 * that no longer exist. Undefined if no other program keeps it.
 */
export function statusWithoutFinalizer(
  parent: KubernetesObject,
  remaining: readonly string[],
  now: Date,
): Status | undefined {
  const foreign = foreignFinalizers(parent.metadata);
  if (foreign.length === 0) return undefined;
  const stored = (parent['status'] ?? {}) as { conditions?: Condition[] };
  const { generation } = parent.metadata;
  const before = stored.conditions?.find(({ type }) => type === 'Ready');
  const ready: Condition = {
    type: 'Ready',
    status: 'False',
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    lastTransitionTime: before?.status === 'False' ? before.lastTransitionTime : `${now.toISOString().slice(0, 19)}Z`,
    reason: 'Deleting',
    message: deletionMessage(remaining, foreign).slice(0, MAX_MESSAGE),
  };
  const others = (stored.conditions ?? []).filter(({ type }) => type !== 'Ready');
  return { ...stored, phase: 'Deleting', conditions: [ready, ...others] };
}

const MAX_MESSAGE = 1_024;
