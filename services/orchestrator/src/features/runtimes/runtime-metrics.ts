import type { Registry } from '@uswarm/service-kit';
import { Counter, Gauge, Histogram } from 'prom-client';
import { INTERNAL_PHASES, type InternalPhase } from '../../database/schema.js';

/** What the lifecycle counts. */
export interface RuntimeMetrics {
  suspended(): void;
  /** Suspended for a moment, for a new revision of the platform. */
  madeWay(): void;
  woken(): void;
  /** `first` after the workspace was made, else after a suspension. */
  ready(start: 'first' | 'wake', seconds: number): void;
}

export type CountByPhase = () => Promise<{ phase: InternalPhase; count: number }[]>;

export function createRuntimeMetrics(registry: Registry, countByPhase: CountByPhase): RuntimeMetrics {
  const registers = [registry];
  const suspensions = new Counter({
    name: 'uswarm_runtime_suspensions_total',
    help: 'Runtimes suspended because they were idle.',
    registers,
  });
  const rollouts = new Counter({
    name: 'uswarm_runtime_rollouts_total',
    help: 'Idle runtimes suspended for a moment, so that a new revision could take their place.',
    registers,
  });
  const wakes = new Counter({
    name: 'uswarm_runtime_wakes_total',
    help: 'Suspended runtimes woken by a message.',
    registers,
  });
  const timeToReady = new Histogram({
    name: 'uswarm_runtime_time_to_ready_seconds',
    help: 'Time from the wish for a running runtime to its first answer; after a sign-up or a suspension.',
    labelNames: ['start'],
    buckets: [0.5, 1, 2, 3, 5, 10, 20, 30, 60, 120, 300],
    registers,
  });
  const byPhase = new Gauge({
    name: 'uswarm_runtimes',
    help: 'Runtimes by phase, as the database has them: the same from every replica.',
    labelNames: ['phase'],
    registers: [],
    async collect() {
      // Without the database the other figures still count.
      const counts = await countByPhase().catch(() => undefined);
      this.reset();
      if (counts === undefined) return;
      for (const phase of INTERNAL_PHASES) this.set({ phase }, 0);
      for (const { phase, count } of counts) this.set({ phase }, count);
    },
  });
  registry.registerMetric(byPhase);
  return {
    suspended: () => suspensions.inc(),
    madeWay: () => rollouts.inc(),
    woken: () => wakes.inc(),
    ready: (start, seconds) => timeToReady.observe({ start }, seconds),
  };
}
