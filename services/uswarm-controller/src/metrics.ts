import { PHASES, SYNC_FAILURES } from '@uswarm/contract/userswarm';
import type { InformerFault, Resource } from '@uswarm/kube-client';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { HOOK_OUTCOMES, type HookOutcome } from './hook/hook-error.js';
import type { RolloutState } from './rollout/coordinator.js';

/** What the figures are read from at each scrape. */
export interface MetricSources {
  queueDepth(): number;
  /** How many UserSwarms are in each phase. */
  phases(): ReadonlyMap<string, number>;
  leading(): boolean;
  longestUnsyncedS(): number;
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

  const waits = histogram('queue_wait_seconds', 'Seconds that a UserSwarm waited for a worker.', FAST, []);
  const syncs = histogram('sync_duration_seconds', 'Seconds of one sync, by how it ended.', FAST, ['outcome']);
  const hooks = histogram('hook_duration_seconds', 'Seconds until the webhook answered, by how.', FAST, ['outcome']);
  const ready = histogram(
    'time_to_ready_seconds',
    'Seconds until a UserSwarm was Ready, by what it came from: create, resume or recovery.',
    READY,
    ['from'],
  );
  const failures = counter('sync_failures_total', 'Syncs that failed, by the reason of the Synced condition.', [
    'reason',
  ]);
  for (const reason of SYNC_FAILURES) failures.inc({ reason }, 0);
  for (const outcome of HOOK_OUTCOMES) hooks.zero({ outcome });
  const watches = counter('watches_total', 'Watches started.', ['resource']);
  const watchFaults = counter('watch_failures_total', 'Lists and watches that failed, by the fault.', [
    'resource',
    'fault',
  ]);
  const writes = counter('api_writes_total', 'Writes sent to the API server.', ['verb', 'resource']);
  const dropped = counter('events_dropped_total', 'Events that were not recorded because too many were waiting.', []);
  const grants = counter('rollout_grants_total', 'Runtimes that got the go-ahead for a new pod; forced: not idle.', [
    'forced',
  ]);
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
  const { queueDepth, phases, leading, longestUnsyncedS, rollout, starts } = sources;
  const gauge = (name: string, help: string, read: () => number): void => {
    const metric: Gauge = new Gauge({
      name: `uswarm_controller_${name}`,
      help,
      registers: [registry],
      collect: () => metric.set(read()),
    });
  };
  gauge('queue_depth', 'UserSwarms that wait for a worker.', queueDepth);
  gauge(
    'longest_unsynced_seconds',
    'Seconds since the sync of the UserSwarm whose last one is the longest ago; at most the resync period while all is well.',
    longestUnsyncedS,
  );
  gauge('leader', '1 if this process leads, else 0.', () => (leading() ? 1 : 0));
  gauge('rollout_pending', 'UserSwarms whose pod is of an older revision of the platform.', () => rollout().pending);
  gauge('rollout_in_flight', 'UserSwarms that have the go-ahead and are not Ready yet.', () => rollout().inFlight);
  gauge('rollout_failed', 'UserSwarms that did not become Ready after their go-ahead.', () => rollout().failed);
  gauge('rollout_halted', '1 if a roll-out is halted because too many failed in a row, else 0.', () =>
    rollout().halted ? 1 : 0,
  );
  gauge('starting', 'UserSwarms whose runtime starts.', () => starts().starting);
  gauge('start_queue_length', 'UserSwarms whose runtime waits for others to have started.', () => starts().queued);
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
