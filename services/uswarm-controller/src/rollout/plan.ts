import type { KubernetesObject } from '@uswarm/kube-client';
import { type Member, memberOf } from './rollout-state.js';

export interface RolloutLimits {
  /** Maximum number of runtimes that are concurrently not Ready because of a rollout. */
  maxConcurrent: number;
  /** Seconds after which a waiting runtime is replaced even if it is busy; 0 disables the deadline. */
  deadlineS: number;
  /** A runtime that began to wait before this time is replaced immediately, even if it is busy. */
  forcedBefore?: Date | undefined;
  /** Number of consecutive failures that halts a revision's rollout. */
  maxFailures: number;
}

export interface Grant {
  parent: KubernetesObject;
  revision: string;
  forced: boolean;
  reason: 'idle' | 'deadline' | 'forced';
  /** Start of the wait in milliseconds since the epoch. */
  since: number;
}

export interface RolloutPlan {
  grants: Grant[];
  /** UserSwarms whose grant is revoked, which frees its place. */
  unused: KubernetesObject[];
  /** Number of UserSwarms whose pod has an older revision. */
  pending: number;
  inFlight: number;
  /** UserSwarms that did not become Ready after their grant, by revision. */
  failed: Map<string, KubernetesObject[]>;
  /** Halted revisions. */
  halted: string[];
}

/**
 * Computes the next grants. All inputs are stored in the UserSwarms, so that a new leader continues where the previous
 * one stopped. docs/adr/0014-roll-out-to-idle-runtimes.md
 *
 * @param refused uids of UserSwarms whose last write was refused; they come last
 */
export function planRollout(
  parents: readonly KubernetesObject[],
  limits: RolloutLimits,
  now: Date,
  refused: ReadonlySet<string> = new Set(),
): RolloutPlan {
  const members = parents.map(memberOf).filter(({ state }) => state !== 'none');
  const withState = (state: Member['state']): Member[] => members.filter((member) => member.state === state);
  const inFlight = withState('inFlight');
  const failed = Map.groupBy(withState('failed'), ({ granted }) => granted ?? '');
  const halted = [...failed.keys()].filter((revision) => isHalted(members, revision, limits.maxFailures));
  const isRefused = ({ parent }: Member): number => Number(refused.has(parent.metadata.uid ?? ''));
  const isLate = (member: Member): boolean => reasonOf(member, limits, now) !== 'idle';

  // A runtime with a grant already counts as in flight.
  const pressed = inFlight.filter((member) => isUnforced(member) && isLate(member));
  const waiting = withState('waiting')
    .filter((member) => !halted.includes(member.pending ?? '') && (member.requested || isLate(member)))
    .toSorted((left, right) => isRefused(left) - isRefused(right) || bySince(left, right))
    .slice(0, Math.max(0, limits.maxConcurrent - inFlight.length));
  const grants = [...pressed, ...waiting].map((member) => ({
    parent: member.parent,
    revision: member.pending ?? '',
    forced: isLate(member),
    reason: reasonOf(member, limits, now),
    since: member.since,
  }));
  return {
    grants,
    unused: withState('unused').map(({ parent }) => parent),
    pending: members.filter(({ pending }) => pending !== undefined).length,
    inFlight: inFlight.length + waiting.length,
    failed: new Map([...failed].map(([revision, all]) => [revision, all.map(({ parent }) => parent)])),
    halted,
  };
}

function reasonOf({ since }: Member, { deadlineS, forcedBefore }: RolloutLimits, now: Date): Grant['reason'] {
  if (forcedBefore !== undefined && since < forcedBefore.getTime()) return 'forced';
  return deadlineS > 0 && now.getTime() - since >= deadlineS * 1_000 ? 'deadline' : 'idle';
}

const isUnforced = ({ rolloutGrant, pending }: Member): boolean =>
  rolloutGrant !== undefined && rolloutGrant.revision === pending && !rolloutGrant.forced;

const bySince = (left: Member, right: Member): number =>
  left.since - right.since || left.parent.metadata.name.localeCompare(right.parent.metadata.name);

/** True if the newest `maxFailures` completed grants all failed. */
function isHalted(members: readonly Member[], revision: string, maxFailures: number): boolean {
  const decided = members
    .filter(({ granted, state }) => granted === revision && (state === 'failed' || state === 'succeeded'))
    .toSorted((left, right) => right.grantedAt.localeCompare(left.grantedAt));
  const row = decided.slice(0, maxFailures);
  return row.length === maxFailures && row.every(({ state }) => state === 'failed');
}
