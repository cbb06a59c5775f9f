import { FAILURE_REASONS, type KubernetesObject, type UserSwarmStatus } from '@uswarm/contract/userswarm';
import { type Clock, readGauge, type Registry } from '@uswarm/service-kit';
import { Gauge } from 'prom-client';

export interface UserSwarmMetricsDeps {
  list: () => readonly KubernetesObject[];
  /** Whether what is listed is all that there is. */
  synced: () => boolean;
  clock: Clock;
}

/** Phases that a UserSwarm should leave again. */
const PASSING = ['Progressing', 'Error', 'Deleting'] as const;
/** Seconds after which one that is still in the phase counts as stuck. */
const STUCK_AFTER_S: ReadonlyMap<string, number> = new Map([
  ['Progressing', 600],
  ['Deleting', 900],
]);
const REASONS = new Set(Object.keys(FAILURE_REASONS));

/** How the UserSwarms are, as this process sees them; every replica says the same. */
export function registerUserSwarms(registry: Registry, { list, synced, clock }: UserSwarmMetricsDeps): void {
  const help = '1 if every cache is listed and its watch is running, or was within the last 30 s; else 0.';
  readGauge(registry, 'uswarm_controller_caches_synced', help, () => (synced() ? 1 : 0));
  const oldest: Gauge<'phase'> = new Gauge({
    name: 'uswarm_userswarms_oldest_seconds',
    help: 'Seconds since the oldest UserSwarm in this phase was last Ready.',
    labelNames: ['phase'],
    registers: [registry],
    collect() {
      for (const [phase, seconds] of oldestAges(list(), clock.now())) oldest.set({ phase }, seconds);
    },
  });
  const stuck: Gauge<'phase'> = new Gauge({
    name: 'uswarm_userswarms_stuck',
    help: 'UserSwarms that have been in this phase for too long: Progressing for 10 minutes, Deleting for 15 minutes.',
    labelNames: ['phase'],
    registers: [registry],
    collect() {
      for (const [phase, count] of countStuck(list(), clock.now())) stuck.set({ phase }, count);
    },
  });
  const failing: Gauge<'reason'> = new Gauge({
    name: 'uswarm_userswarms_failing',
    help: 'UserSwarms that are not Ready for a reason that needs action.',
    labelNames: ['reason'],
    registers: [registry],
    collect() {
      for (const [reason, count] of countFailing(list())) failing.set({ reason }, count);
    },
  });
}

/** Seconds by phase, 0 where none is in it. Pure. */
export function oldestAges(userSwarms: readonly KubernetesObject[], now: Date): Map<string, number> {
  const ages = new Map<string, number>(PASSING.map((phase) => [phase, 0]));
  for (const each of userSwarms) {
    const { phase = '' } = statusOf(each);
    const before = ages.get(phase);
    if (before !== undefined) ages.set(phase, Math.max(before, (now.getTime() - sinceOf(each)) / 1_000));
  }
  return ages;
}

/** By phase, 0 if none is stuck in it. Pure. */
export function countStuck(userSwarms: readonly KubernetesObject[], now: Date): Map<string, number> {
  const counts = new Map<string, number>([...STUCK_AFTER_S.keys()].map((phase) => [phase, 0]));
  for (const each of userSwarms) {
    const { phase = '' } = statusOf(each);
    const limit = STUCK_AFTER_S.get(phase);
    if (limit !== undefined && (now.getTime() - sinceOf(each)) / 1_000 > limit) {
      counts.set(phase, (counts.get(phase) ?? 0) + 1);
    }
  }
  return counts;
}

/** By reason, 0 where there is none. Pure. */
export function countFailing(userSwarms: readonly KubernetesObject[]): Map<string, number> {
  const counts = new Map<string, number>([...REASONS].map((reason) => [reason, 0]));
  for (const each of userSwarms) {
    const ready = readyOf(each);
    const reason = ready?.reason ?? '';
    if (ready?.status === 'False' && REASONS.has(reason)) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return counts;
}

const statusOf = (each: KubernetesObject): UserSwarmStatus => (each['status'] ?? {}) as UserSwarmStatus;
const conditionOf = (each: KubernetesObject, wanted: string) =>
  statusOf(each).conditions?.find(({ type }) => type === wanted);
const readyOf = (each: KubernetesObject) => conditionOf(each, 'Ready');

/** Since when it is deleted, or else not Ready; the time before a resume does not count. In ms since the epoch. */
function sinceOf(each: KubernetesObject): number {
  const { deletionTimestamp, creationTimestamp } = each.metadata;
  const since = deletionTimestamp ?? readyOf(each)?.lastTransitionTime ?? creationTimestamp;
  if (since === undefined) return Infinity;
  const suspended = conditionOf(each, 'Suspended');
  const resumed =
    deletionTimestamp === undefined && suspended?.status === 'False' ? suspended.lastTransitionTime : since;
  return Math.max(new Date(since).getTime(), new Date(resumed).getTime());
}
