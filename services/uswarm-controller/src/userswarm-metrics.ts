import { FAILURE_REASONS, type UserSwarmStatus } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-client';
import { type Clock, readGauge, type Registry } from '@uswarm/service-kit';
import { Gauge } from 'prom-client';

export interface UserSwarmMetricsDeps {
  list: () => readonly KubernetesObject[];
  /** True if the caches are synced. */
  synced: () => boolean;
  clock: Clock;
}

/** Transient phases. */
const PASSING = ['Progressing', 'Error', 'Deleting'] as const;
/** Seconds in a phase after which a UserSwarm counts as stuck. */
const STUCK_AFTER_S: ReadonlyMap<string, number> = new Map([
  ['Progressing', 600],
  ['Deleting', 900],
]);
const REASONS = new Set(Object.keys(FAILURE_REASONS));

/** Registers UserSwarm metrics. Every replica reports the same values. */
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

/** Seconds by phase, 0 for an empty phase. Pure. */
export function oldestAges(userSwarms: readonly KubernetesObject[], now: Date): Map<string, number> {
  const ages = new Map<string, number>(PASSING.map((phase) => [phase, 0]));
  for (const each of userSwarms) {
    const { phase = '' } = statusOf(each);
    const before = ages.get(phase);
    if (before !== undefined) ages.set(phase, Math.max(before, (now.getTime() - sinceOf(each)) / 1_000));
  }
  return ages;
}

/** Number of stuck UserSwarms by phase. Pure. */
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

/** Number of failing UserSwarms by reason. Pure. */
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

/** When it was deleted, or else lost readiness or was resumed last. In ms since the epoch. */
function sinceOf(each: KubernetesObject): number {
  const { deletionTimestamp, creationTimestamp } = each.metadata;
  const since = deletionTimestamp ?? readyOf(each)?.lastTransitionTime ?? creationTimestamp;
  if (since === undefined) return Infinity;
  const suspended = conditionOf(each, 'Suspended');
  const resumed =
    deletionTimestamp === undefined && suspended?.status === 'False' ? suspended.lastTransitionTime : since;
  return Math.max(new Date(since).getTime(), new Date(resumed).getTime());
}
