import {
  type Condition,
  type RolloutGrant,
  rolloutGrantOf,
  ROLLOUT,
  type UserSwarmStatus,
} from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-client';

/**
 * A UserSwarm's rollout state, derived from the stored object. `waiting`: its pod has an older revision. `inFlight`: it
 * has a grant and is not Ready with the new revision yet. `unused`: it has a grant that it no longer needs, or that its
 * orchestrator no longer requests.
 */
export type MemberState = 'none' | 'waiting' | 'inFlight' | 'unused' | 'failed' | 'succeeded';

export interface Member {
  parent: KubernetesObject;
  state: MemberState;
  /** The revision that it waits for. */
  pending: string | undefined;
  /** Revision and time of the last grant. */
  granted: string | undefined;
  grantedAt: string;
  /** The current grant while it waits. */
  rolloutGrant: RolloutGrant | undefined;
  /** Its orchestrator requests the rollout because the runtime is idle. */
  requested: boolean;
  /** Start of the wait in milliseconds since the epoch; NaN if unknown. */
  since: number;
}

/** Reasons while a runtime is not Ready and has not failed. */
const PENDING_REASONS: ReadonlySet<string | undefined> = new Set([
  undefined,
  'Starting',
  'Queued',
  'Suspended',
  'DatabaseUnreachable',
  // Caused by the node and resolved by a replacement pod.
  'NodeLost',
  'Evicted',
]);

/** By stored object, which never changes: each pass looks at all UserSwarms, and few of them have changed. */
const members = new WeakMap<KubernetesObject, Member>();

export function memberOf(parent: KubernetesObject): Member {
  const known = members.get(parent);
  if (known !== undefined) return known;
  const member = readMember(parent);
  members.set(parent, member);
  return member;
}

function readMember(parent: KubernetesObject): Member {
  const { annotations = {} } = parent.metadata;
  const status = (parent['status'] ?? {}) as UserSwarmStatus;
  const upToDate = conditionOf(status, 'UpToDate');
  const pending = upToDate?.status === 'False' ? status.pendingRevision : undefined;
  const requested = annotations[ROLLOUT.wanted];
  const member = {
    parent,
    pending,
    granted: annotations[ROLLOUT.revision],
    grantedAt: annotations[ROLLOUT.time] ?? '',
    rolloutGrant: rolloutGrantOf(parent.metadata, status),
    requested: requested !== undefined && requested === pending,
    since: Date.parse(upToDate?.lastTransitionTime ?? ''),
  };
  return { ...member, state: stateOf(member, status, requested !== undefined) };
}

function stateOf(member: Omit<Member, 'state'>, status: UserSwarmStatus, isRequested: boolean): MemberState {
  const { parent, pending, granted } = member;
  if (parent.metadata.deletionTimestamp !== undefined) return 'none';
  const { suspend } = (parent['spec'] ?? {}) as { suspend?: boolean };
  if (suspend === true) return granted === undefined ? 'none' : stateOfStopped(member, status, isRequested);
  if (pending !== undefined) return stateOfOld(member, status);
  return granted === undefined ? 'none' : stateOfNew(member, status);
}

/** State of a suspended runtime with a grant. */
function stateOfStopped(
  { granted }: Omit<Member, 'state'>,
  status: UserSwarmStatus,
  isRequested: boolean,
): MemberState {
  // The orchestrator removes the request when it resumes the runtime or leaves it suspended.
  if (isRequested) return 'inFlight';
  // It resumes with another revision, which is not part of this rollout.
  if (granted !== status.revision) return 'unused';
  // Suspending a failed runtime does not fix the revision. A runtime that was suspended at the grant has not tried it.
  const [stopped, replaced] = [conditionOf(status, 'Suspended'), conditionOf(status, 'UpToDate')];
  if (replaced?.status !== 'True' || wasReady(status)) return 'none';
  return stopped?.status !== 'True' || isAfter(stopped, replaced) ? 'failed' : 'none';
}

/** State if the runtime's pod has an older revision. */
function stateOfOld(
  { pending, granted, rolloutGrant, requested }: Omit<Member, 'state'>,
  status: UserSwarmStatus,
): MemberState {
  if (rolloutGrant !== undefined && rolloutGrant.revision === pending && (rolloutGrant.forced || requested))
    return 'inFlight';
  // The previous grant is still in flight.
  const ready = conditionOf(status, 'Ready');
  const isPending = ready?.status !== 'True' && PENDING_REASONS.has(ready?.reason);
  if (granted !== undefined && isPending) return 'inFlight';
  // No longer requested, or for a revision that is no longer the current one.
  return rolloutGrant === undefined ? 'waiting' : 'unused';
}

/** State if a granted runtime's pod has the current revision. */
function stateOfNew({ granted }: Omit<Member, 'state'>, status: UserSwarmStatus): MemberState {
  const state = wasReady(status) ? 'succeeded' : stateOfUnready(status);
  // The result of another revision does not apply to the granted one.
  return granted === status.revision || state === 'inFlight' ? state : 'none';
}

function stateOfUnready(status: UserSwarmStatus): MemberState {
  // The spec became invalid, and the replacement time is unknown.
  if (status.phase === 'Error') return 'none';
  return PENDING_REASONS.has(conditionOf(status, 'Ready')?.reason) ? 'inFlight' : 'failed';
}

/**
 * True if the runtime is or was Ready with the new pod. Ready changes to False when the old pod is replaced; a later
 * transition means that the new pod was Ready in between.
 */
function wasReady(status: UserSwarmStatus): boolean {
  const ready = conditionOf(status, 'Ready');
  return ready?.status === 'True' || (ready !== undefined && isAfter(ready, conditionOf(status, 'UpToDate')));
}

const isAfter = (later: Condition, earlier: Condition | undefined): boolean =>
  later.lastTransitionTime > (earlier?.lastTransitionTime ?? '');

const conditionOf = ({ conditions = [] }: UserSwarmStatus, conditionType: Condition['type']): Condition | undefined =>
  conditions.find(({ type }) => type === conditionType);
