import {
  type Condition,
  type GoAhead,
  goAheadOf,
  type KubernetesObject,
  ROLLOUT,
  type UserSwarmStatus,
} from '@uswarm/contract/userswarm';

/**
 * Where a UserSwarm stands in a roll-out, by what is stored of it alone.
 * `waiting`: its pod is of an older revision. `inFlight`: it has the go-ahead, and is not Ready with the
 * new one yet. `unused`: it has a go-ahead that it no longer needs, or that its orchestrator no longer wants.
 */
export type Standing = 'none' | 'waiting' | 'inFlight' | 'unused' | 'failed' | 'succeeded';

export interface Member {
  parent: KubernetesObject;
  standing: Standing;
  /** The revision that it waits for. */
  pending: string | undefined;
  /** What it last had the go-ahead for, and when. */
  granted: string | undefined;
  grantedAt: string;
  /** The one that it has while it waits. */
  goAhead: GoAhead | undefined;
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
    goAhead: goAheadOf(parent.metadata, status),
    wanted: wants !== undefined && wants === pending,
    since: Date.parse(upToDate?.lastTransitionTime ?? ''),
  };
  return { ...member, standing: standingOf(member, status, wants !== undefined) };
}

function standingOf(member: Omit<Member, 'standing'>, status: UserSwarmStatus, asked: boolean): Standing {
  const { parent, pending, granted } = member;
  if (parent.metadata.deletionTimestamp !== undefined) return 'none';
  const { suspend } = (parent['spec'] ?? {}) as { suspend?: boolean };
  // Its orchestrator takes the wish back once it lets it run again, or leaves it suspended.
  if (suspend === true) return granted !== undefined && asked ? 'inFlight' : 'none';
  if (pending !== undefined) return standingOfOld(member, status);
  return granted === undefined ? 'none' : standingOfNew(status);
}

/** Its pod is of an older revision. */
function standingOfOld(
  { pending, granted, goAhead, wanted }: Omit<Member, 'standing'>,
  status: UserSwarmStatus,
): Standing {
  if (goAhead !== undefined && goAhead.revision === pending) return goAhead.forced || wanted ? 'inFlight' : 'unused';
  // The go-ahead before this one is not over yet.
  const ready = conditionOf(status, 'Ready');
  const onItsWay = ready?.status !== 'True' && ON_ITS_WAY.has(ready?.reason);
  if (granted !== undefined && onItsWay) return 'inFlight';
  // The platform left that revision before it was used, and may come back to it.
  return goAhead === undefined ? 'waiting' : 'unused';
}

/** It got its new pod by a go-ahead, some time ago. */
function standingOfNew(status: UserSwarmStatus): Standing {
  const ready = conditionOf(status, 'Ready');
  if (ready?.status === 'True') return 'succeeded';
  // Readiness was lost with the pod that was replaced, and not before the new one was in place:
  // else it has been Ready since, and what it is now has nothing to do with the roll-out.
  const replaced = conditionOf(status, 'UpToDate')?.lastTransitionTime ?? '';
  if (ready !== undefined && ready.lastTransitionTime > replaced) return 'succeeded';
  if (status.phase === 'Error') return 'none';
  return ON_ITS_WAY.has(ready?.reason) ? 'inFlight' : 'failed';
}

const conditionOf = ({ conditions = [] }: UserSwarmStatus, wanted: Condition['type']): Condition | undefined =>
  conditions.find(({ type }) => type === wanted);
