import type { Condition, SyncFailure, UserSwarm } from '@uswarm/contract/userswarm';

export type Status = Record<string, unknown>;

/** The condition that the controller writes; the webhook writes all others. */
export interface Synced {
  status: 'True' | 'False';
  reason: 'Synced' | SyncFailure;
  message: string;
}

export const SYNCED: Synced = { status: 'True', reason: 'Synced', message: 'The children are as they should be.' };

const MAX_MESSAGE = 1_024;

const conditionsOf = (status: Status | undefined): Condition[] => {
  const conditions = status?.['conditions'];
  return Array.isArray(conditions) ? (conditions as Condition[]) : [];
};

export const syncedOf = (status: Status | undefined): Condition | undefined =>
  conditionsOf(status).find(({ type }) => type === 'Synced');

/**
 * Replaces `Synced` in the status. The transition time changes only when the condition's status differs from `stored`.
 */
export function withSynced(
  status: Status,
  synced: Synced,
  { stored, generation, now }: { stored: Status | undefined; generation: number | undefined; now: Date },
): Status {
  const before = syncedOf(stored);
  const condition: Condition = {
    type: 'Synced',
    status: synced.status,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    lastTransitionTime:
      before?.status === synced.status ? before.lastTransitionTime : now.toISOString().replace(/\.\d+Z$/, 'Z'),
    reason: synced.reason,
    message: synced.message.slice(0, MAX_MESSAGE),
  };
  const conditions = conditionsOf(status);
  const at = conditions.findIndex(({ type }) => type === 'Synced');
  return { ...status, conditions: at < 0 ? [...conditions, condition] : conditions.with(at, condition) };
}

/**
 * The status to store after a reconcile. A webhook response replaces the whole status; without one (`answered`
 * undefined) only `Synced` changes. Without a verdict, `Synced` is unchanged.
 */
export function nextStatus(
  parent: Pick<UserSwarm, 'metadata' | 'status'>,
  answered: Status | undefined,
  synced: Synced | undefined,
  now: Date,
): Status {
  const stored = parent.status as Status | undefined;
  const { generation } = parent.metadata;
  const base: Status =
    answered === undefined
      ? { ...stored }
      : { ...answered, ...(generation === undefined ? {} : { observedGeneration: generation }) };
  const status = synced === undefined ? base : withSynced(base, synced, { stored, generation, now });
  return answered === undefined && synced?.status !== 'False' ? status : complete(status, parent, synced, now);
}

/** Adds a missing phase and condition `Ready`, so that no UserSwarm is shown without them. */
function complete(
  status: Status,
  { metadata, status: stored }: Pick<UserSwarm, 'metadata' | 'status'>,
  synced: Synced | undefined,
  now: Date,
): Status {
  const conditions = conditionsOf(status);
  const isDeleting = metadata.deletionTimestamp !== undefined;
  const phase = status['phase'] ?? (isDeleting ? 'Deleting' : 'Progressing');
  if (conditions.some(({ type }) => type === 'Ready')) return { ...status, phase };
  const shown = phase === 'Ready' ? 'True' : 'False';
  const before = conditionsOf(stored as Status | undefined).find(({ type }) => type === 'Ready');
  const { reason, message } = synced?.status === 'False' ? synced : isDeleting ? DELETING : NO_CONDITION;
  const ready: Condition = {
    type: 'Ready',
    status: shown,
    ...(metadata.generation === undefined ? {} : { observedGeneration: metadata.generation }),
    lastTransitionTime:
      before?.status === shown ? before.lastTransitionTime : now.toISOString().replace(/\.\d+Z$/, 'Z'),
    reason,
    message: message.slice(0, MAX_MESSAGE),
  };
  return { ...status, phase, conditions: [ready, ...conditions] };
}

const DELETING = { reason: 'Deleting', message: 'The runtime is being deleted.' };
const NO_CONDITION = { reason: 'WebhookInvalid', message: 'The webhook returned no condition Ready.' };

/**
 * Whether the condition changed, times apart. The webhook must be called again in that case. A new UserSwarm counts as
 * synced.
 */
export function syncedChanged(before: Status | undefined, after: Status): boolean {
  const [old, current] = [syncedOf(before) ?? SYNCED, syncedOf(after)];
  return old.status !== current?.status || old.reason !== current?.reason || old.message !== current?.message;
}
