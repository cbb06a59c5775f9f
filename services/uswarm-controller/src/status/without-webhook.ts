import { type Condition, childName, type UserSwarmPhase } from '@uswarm/contract/userswarm';
import type { KubernetesObject, UserSwarm } from '@uswarm/contract/userswarm';
import { runtimeNamespaceOf } from '../caches/caches.js';
import type { Observed } from '../sync/request.js';
import { type Status, withSynced } from './merge.js';

/** Phases in which an unchanged UserSwarm needs nothing. */
const SETTLED: ReadonlySet<unknown> = new Set(['Ready', 'Suspended', 'Error']);

/**
 * Whether a UserSwarm has to be rendered before its status is true again: it is new, changed, being deleted, on its
 * way, or its runtime is not there any more. One that is as it was needs no webhook.
 */
export function needsWebhook(parent: KubernetesObject, observed: Observed): boolean {
  const { phase, observedGeneration } = statusOf(parent);
  if (parent.metadata.deletionTimestamp !== undefined || !SETTLED.has(phase)) return true;
  if (observedGeneration !== parent.metadata.generation) return true;
  if (phase === 'Ready') return !isRunning(parent, observed);
  return phase === 'Suspended' && !isWhole(parent, observed);
}

export interface Unanswered {
  /** Why there is no answer. */
  cause: string;
  now: Date;
}

/**
 * The status of a UserSwarm that needs the webhook while it does not answer: `Ready` and `Synced` give the reason, and
 * the phase is no better than what runs. Everything else stays as the webhook last said it.
 */
export function statusWithoutWebhook(parent: KubernetesObject, observed: Observed, { cause, now }: Unanswered): Status {
  const stored = statusOf(parent);
  const { generation } = parent.metadata;
  const before = stored.conditions?.find(({ type }) => type === 'Ready');
  // The text of the first failure stays: another one for each kind of failure would be another write.
  const message = before?.reason === REASON ? before.message : `The webhook does not answer: ${cause}.`;
  const phase = phaseNow(parent, observed);
  const ready = phase === 'Ready' ? 'True' : 'False';
  const condition: Condition = {
    type: 'Ready',
    status: ready,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    lastTransitionTime: before?.status === ready ? before.lastTransitionTime : `${now.toISOString().slice(0, 19)}Z`,
    reason: REASON,
    message: message.slice(0, MAX_MESSAGE),
  };
  const others = (stored.conditions ?? []).filter(({ type }) => type !== 'Ready');
  const status: Status = { ...stored, phase, conditions: [condition, ...others] };
  const synced = { status: 'False', reason: REASON, message: condition.message } as const;
  return withSynced(status, synced, { stored: stored as Status, generation, now });
}

const REASON = 'WebhookUnavailable';
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

/** All children are there, and none is on its way out. */
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
