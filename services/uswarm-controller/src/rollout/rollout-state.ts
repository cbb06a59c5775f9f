import {
  type Condition,
  type RolloutGrant,
  rolloutGrantOf,
  type KubernetesObject,
  ROLLOUT,
  type UserSwarmStatus,
} from '@uswarm/contract/userswarm';

/**
 * Where a UserSwarm stands in a roll-out, by what is stored of it alone.
 * `waiting`: its pod is of an older revision. `inFlight`: it has the go-ahead, and is not Ready with the
 * new one yet. `unused`: it has a go-ahead that it no longer needs, or that its orchestrator no longer wants.
 */
export type MemberState = 'none' | 'waiting' | 'inFlight' | 'unused' | 'failed' | 'succeeded';

export interface Member {
  parent: KubernetesObject;
  state: MemberState;
  /** The revision that it waits for. */
  pending: string | undefined;
  /** What it last had the go-ahead for, and when. */
  granted: string | undefined;
  grantedAt: string;
  /** The one that it has while it waits. */
  rolloutGrant: RolloutGrant | undefined;
  /** Its orchestrator finds it idle. */
  wanted: boolean;
  /** Since when it waits, in milliseconds of the epoch; NaN where that is not known. */
  since: number;
}

/** Of a runtime that is not Ready, and of which nothing says that it will not be. */
const ON_ITS_WAY: ReadonlySet<string | undefined> = new Set([
  undefined,
  'Starting',
  'Queued',
  'Suspended',
  'DatabaseUnreachable',
  // The node's fault, and over once there is another pod.
  'NodeLost',
  'Evicted',
]);

export function memberOf(parent: KubernetesObject): Member {
  const { annotations = {} } = parent.metadata;
  const status = (parent['status'] ?? {}) as UserSwarmStatus;
  const upToDate = conditionOf(status, 'UpToDate');
  const pending = upToDate?.status === 'False' ? status.pendingRevision : undefined;
  const wants = annotations[ROLLOUT.wanted];
  const member = {
    parent,
    pending,
    granted: annotations[ROLLOUT.revision],
    grantedAt: annotations[ROLLOUT.time] ?? '',
    rolloutGrant: rolloutGrantOf(parent.metadata, status),
    wanted: wants !== undefined && wants === pending,
    since: Date.parse(upToDate?.lastTransitionTime ?? ''),
  };
  return { ...member, state: stateOf(member, status, wants !== undefined) };
}

function stateOf(member: Omit<Member, 'state'>, status: UserSwarmStatus, asked: boolean): MemberState {
  const { parent, pending, granted } = member;
  if (parent.metadata.deletionTimestamp !== undefined) return 'none';
  const { suspend } = (parent['spec'] ?? {}) as { suspend?: boolean };
  if (suspend === true) return granted === undefined ? 'none' : stateOfStopped(member, status, asked);
  if (pending !== undefined) return stateOfOld(member, status);
  return granted === undefined ? 'none' : stateOfNew(member, status);
}

/** It had a go-ahead, and is suspended. */
function stateOfStopped({ granted }: Omit<Member, 'state'>, status: UserSwarmStatus, asked: boolean): MemberState {
  // Its orchestrator takes the wish back once it lets it run again, or leaves it suspended.
  if (asked) return 'inFlight';
  // It resumes with another one, which is nobody's roll-out.
  if (granted !== status.revision) return 'unused';
  // Whoever holds one that failed does not mend the revision; one that got it asleep has not tried it.
  const [stopped, replaced] = [conditionOf(status, 'Suspended'), conditionOf(status, 'UpToDate')];
  if (replaced?.status !== 'True' || wasReady(status)) return 'none';
  return stopped?.status !== 'True' || isAfter(stopped, replaced) ? 'failed' : 'none';
}

/** Its pod is of an older revision. */
function stateOfOld(
  { pending, granted, rolloutGrant, wanted }: Omit<Member, 'state'>,
  status: UserSwarmStatus,
): MemberState {
  if (rolloutGrant !== undefined && rolloutGrant.revision === pending && (rolloutGrant.forced || wanted))
    return 'inFlight';
  // The go-ahead before this one is not over yet.
  const ready = conditionOf(status, 'Ready');
  const onItsWay = ready?.status !== 'True' && ON_ITS_WAY.has(ready?.reason);
  if (granted !== undefined && onItsWay) return 'inFlight';
  // One that is not wanted any more; also one for a revision that the platform left, and may come back to.
  return rolloutGrant === undefined ? 'waiting' : 'unused';
}

/** Its pod is of the present revision, and it had a go-ahead some time ago. */
function stateOfNew({ granted }: Omit<Member, 'state'>, status: UserSwarmStatus): MemberState {
  const state = wasReady(status) ? 'succeeded' : stateOfUnready(status);
  // What becomes of another revision says nothing about the one that the go-ahead was for.
  return granted === status.revision || state === 'inFlight' ? state : 'none';
}

function stateOfUnready(status: UserSwarmStatus): MemberState {
  // Its author broke the specification, and the time of the replacement is no longer known.
  if (status.phase === 'Error') return 'none';
  return ON_ITS_WAY.has(conditionOf(status, 'Ready')?.reason) ? 'inFlight' : 'failed';
}

/**
 * Whether it is Ready with the new pod, or was. Readiness was lost with the pod that was replaced, and not
 * before the new one was in place: else what it is now has nothing to do with the roll-out.
 */
function wasReady(status: UserSwarmStatus): boolean {
  const ready = conditionOf(status, 'Ready');
  return ready?.status === 'True' || (ready !== undefined && isAfter(ready, conditionOf(status, 'UpToDate')));
}

const isAfter = (later: Condition, earlier: Condition | undefined): boolean =>
  later.lastTransitionTime > (earlier?.lastTransitionTime ?? '');

const conditionOf = ({ conditions = [] }: UserSwarmStatus, wanted: Condition['type']): Condition | undefined =>
  conditions.find(({ type }) => type === wanted);
