import { PHASES, SYNC_FAILURES } from '@uswarm/contract/userswarm';
import type { InformerFault, Resource } from '@uswarm/kube-client';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { HOOK_OUTCOMES, type HookOutcome } from './hook/hook-error.js';
import type { RolloutState } from './rollout/coordinator.js';

/** Gauge sources, read at each scrape. */
export interface MetricSources {
  queueDepth(): number;
  /** Number of UserSwarms by phase. */
  phases(): ReadonlyMap<string, number>;
  leading(): boolean;
  oldestReconcileAgeS(): number;
  rollout(): RolloutState;
  starts(): { starting: number; queued: number };
}

export interface ControllerMetrics {
  waited(seconds: number): void;
  synced(outcome: string, seconds: number): void;
  hookAnswered(outcome: HookOutcome, seconds: number): void;
  becameReady(from: string, seconds: number): void;
  failed(reason: string): void;
  watchStarted(resource: string): void;
  watchFailed(resource: string, fault: InformerFault): void;
  wrote(verb: string, resource: Resource): void;
  eventDropped(): void;
  granted(forced: boolean): void;
}

const FAST = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const READY = [0.5, 1, 2, 3, 5, 7.5, 10, 15, 30, 60, 120, 300, 600];

export function createControllerMetrics(registry: Registry, sources: MetricSources): ControllerMetrics {
  registerGauges(registry, sources);
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> =>
    new Counter({ name: `uswarm_controller_${name}`, help, labelNames, registers: [registry] });
  const histogram = <Label extends string>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: Label[],
  ): Histogram<Label> =>
    new Histogram({ name: `uswarm_controller_${name}`, help, buckets, labelNames, registers: [registry] });

  const waits = histogram('queue_wait_seconds', 'Seconds that a UserSwarm waited in the work queue.', FAST, []);
  const syncs = histogram('sync_duration_seconds', 'Duration of a reconcile in seconds, by outcome.', FAST, [
    'outcome',
  ]);
  const hooks = histogram(
    'hook_duration_seconds',
    'Duration of a call of the sync hook in seconds, by outcome.',
    FAST,
    ['outcome'],
  );
  const ready = histogram(
    'time_to_ready_seconds',
    'Seconds until a UserSwarm became Ready, by origin: create, resume or recovery.',
    READY,
    ['from'],
  );
  const failures = counter('sync_failures_total', 'Total failed reconciles, by reason of the Synced condition.', [
    'reason',
  ]);
  for (const reason of SYNC_FAILURES) failures.inc({ reason }, 0);
  for (const outcome of HOOK_OUTCOMES) hooks.zero({ outcome });
  const watches = counter('watches_total', 'Total watches started.', ['resource']);
  const watchFaults = counter('watch_failures_total', 'Total failed lists and watches, by fault.', [
    'resource',
    'fault',
  ]);
  const writes = counter('api_writes_total', 'Total writes to the API server.', ['verb', 'resource']);
  const dropped = counter(
    'events_dropped_total',
    'Total Events dropped because the queue of the recorder was full.',
    [],
  );
  const grants = counter('rollout_grants_total', 'Total rollout grants; forced: the runtime was not idle.', ['forced']);
  for (const forced of ['true', 'false']) grants.inc({ forced }, 0);
  return {
    waited: (seconds) => waits.observe(seconds),
    synced: (outcome, seconds) => syncs.observe({ outcome }, seconds),
    hookAnswered: (outcome, seconds) => hooks.observe({ outcome }, seconds),
    becameReady: (from, seconds) => ready.observe({ from }, seconds),
    failed: (reason) => failures.inc({ reason }),
    watchStarted: (resource) => watches.inc({ resource }),
    watchFailed: (resource, fault) => watchFaults.inc({ resource, fault }),
    wrote: (verb, { plural }) => writes.inc({ verb, resource: plural }),
    eventDropped: () => dropped.inc(),
    granted: (forced) => grants.inc({ forced: String(forced) }),
  };
}

function registerGauges(registry: Registry, sources: MetricSources): void {
  const { queueDepth, phases, leading, oldestReconcileAgeS, rollout, starts } = sources;
  const gauge = (name: string, help: string, read: () => number): void => {
    const metric: Gauge = new Gauge({
      name: `uswarm_controller_${name}`,
      help,
      registers: [registry],
      collect: () => metric.set(read()),
    });
  };
  gauge('queue_depth', 'Length of the work queue.', queueDepth);
  gauge(
    'oldest_reconcile_age_seconds',
    'Seconds since the least recently reconciled UserSwarm was reconciled; normally at most the resync period.',
    oldestReconcileAgeS,
  );
  gauge('leader', '1 if this process is the leader, else 0.', () => (leading() ? 1 : 0));
  gauge('rollout_pending', 'UserSwarms whose pod has an older platform revision.', () => rollout().pending);
  gauge('rollout_in_flight', 'UserSwarms that have a rollout grant and are not Ready yet.', () => rollout().inFlight);
  gauge('rollout_failed', 'UserSwarms that did not become Ready after their rollout grant.', () => rollout().failed);
  gauge('rollout_halted', '1 if the rollout is halted because too many failed in a row, else 0.', () =>
    rollout().halted ? 1 : 0,
  );
  gauge('starting', 'UserSwarms whose runtime is starting.', () => starts().starting);
  gauge('start_queue_length', 'UserSwarms that wait for a start slot.', () => starts().queued);
  const byPhase: Gauge<'phase'> = new Gauge({
    name: 'uswarm_userswarms',
    help: 'UserSwarms by phase.',
    labelNames: ['phase'],
    registers: [registry],
    collect() {
      for (const phase of ['Pending', ...PHASES]) byPhase.set({ phase }, 0);
      for (const [phase, count] of phases()) byPhase.set({ phase }, count);
    },
  });
}
