import { type Condition, childName, type UserSwarmPhase } from '@uswarm/contract/userswarm';
import type { UserSwarm } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-client';
import { runtimeNamespaceOf } from '../caches/caches.js';
import type { HookError } from '../hook/hook-error.js';
import type { Observed } from '../sync/request.js';
import { type Status, withSynced } from './merge.js';

/** Phases in which an unchanged UserSwarm does not need the webhook. */
const SETTLED: ReadonlySet<unknown> = new Set(['Ready', 'Suspended', 'Error']);

/**
 * True if the status is stale without a new webhook response: the UserSwarm is new, changed, progressing or
 * terminating, or its runtime is missing. An unchanged UserSwarm does not need the webhook.
 */
export function needsWebhook(parent: KubernetesObject, observed: Observed): boolean {
  const { phase, observedGeneration } = statusOf(parent);
  if (parent.metadata.deletionTimestamp !== undefined || !SETTLED.has(phase)) return true;
  if (observedGeneration !== parent.metadata.generation) return true;
  if (phase === 'Ready') return !isRunning(parent, observed);
  return phase === 'Suspended' && !isWhole(parent, observed);
}

export interface Unanswered {
  /** Why there is no usable response. */
  error: Pick<HookError, 'reason' | 'message'>;
  now: Date;
}

/**
 * Status of a UserSwarm that needs the webhook during an outage. `Ready` and `Synced` report the reason, and the phase
 * is at best the running children's. All other fields stay as the webhook last returned them.
 */
export function statusWithoutWebhook(parent: KubernetesObject, observed: Observed, { error, now }: Unanswered): Status {
  const stored = statusOf(parent);
  const { generation } = parent.metadata;
  const before = stored.conditions?.find(({ type }) => type === 'Ready');
  const { reason } = error;
  const phase = phaseNow(parent, observed);
  const ready = phase === 'Ready' ? 'True' : 'False';
  const condition: Condition = {
    type: 'Ready',
    status: ready,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    lastTransitionTime: before?.status === ready ? before.lastTransitionTime : `${now.toISOString().slice(0, 19)}Z`,
    reason,
    message: sentenceOf(error).slice(0, MAX_MESSAGE),
  };
  const others = (stored.conditions ?? []).filter(({ type }) => type !== 'Ready');
  const status: Status = { ...stored, phase, conditions: [condition, ...others] };
  const synced = { status: 'False', reason, message: condition.message } as const;
  return withSynced(status, synced, { stored: stored as Status, generation, now });
}

const sentenceOf = ({ reason, message }: Unanswered['error']): string =>
  reason === 'WebhookUnavailable'
    ? `The webhook is unavailable: ${message}.`
    : `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;

const MAX_MESSAGE = 1_024;

function phaseNow(parent: KubernetesObject, observed: Observed): UserSwarmPhase {
  if (parent.metadata.deletionTimestamp !== undefined) return 'Deleting';
  const { phase } = statusOf(parent);
  if (phase === 'Ready' && isRunning(parent, observed)) return phase;
  const { suspend } = (parent['spec'] ?? {}) as Partial<UserSwarm['spec']>;
  return phase === 'Suspended' && suspend === true ? phase : 'Progressing';
}

const statusOf = (parent: KubernetesObject): NonNullable<UserSwarm['status']> =>
  (parent['status'] ?? {}) as NonNullable<UserSwarm['status']>;

/** True if all children exist and none is terminating. */
function isWhole(parent: KubernetesObject, observed: Observed): boolean {
  const key = `${runtimeNamespaceOf(parent)}/${childName(parent.metadata.name)}`;
  return Object.values(observed).every((group) => {
    const child = group[key];
    return child !== undefined && child.metadata.deletionTimestamp === undefined;
  });
}

function isRunning(parent: KubernetesObject, observed: Observed): boolean {
  const key = `${runtimeNamespaceOf(parent)}/${childName(parent.metadata.name)}`;
  const { readyReplicas = 0 } = (observed['Deployment.apps/v1'][key]?.['status'] ?? {}) as { readyReplicas?: number };
  return isWhole(parent, observed) && readyReplicas > 0;
}
