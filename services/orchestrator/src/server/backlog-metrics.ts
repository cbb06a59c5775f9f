import { setTimeout as sleep } from 'node:timers/promises';
import type { Registry } from '@uswarm/service-kit';
import { Gauge } from 'prom-client';
import { INTERNAL_PHASES } from '../platform/database/schema.js';
import { type Backlog, TURN_STATES } from './backlog.store.js';
import type * as backlogRecords from './backlog.store.js';
import type { Database } from '../platform/database/database.js';

export interface BacklogMetricsDeps {
  database: Database;
  store: Pick<typeof backlogRecords, 'readBacklog'>;
  kinds: readonly string[];
  /** A scrape waits for the database at most this many ms. */
  deadlineMs?: number;
  /** Scrapes share one read's result for this many ms. */
  maxAgeMs?: number;
}

type Series = [labels: Record<string, string>, value: number];
interface BacklogGauge {
  name: string;
  help: string;
  label?: string;
  series: (backlog: Backlog) => Series[];
}

/** Prometheus aborts a scrape after ten seconds. During a database outage the other metrics are still needed. */
const DEADLINE_MS = 2_000;
const MAX_AGE_MS = 2_000;

const plain = (value: number): Series[] => [[{}, value]];

/** Returns one series for each of `values`; it is 0 if no row has the value. */
function each<Row>(
  label: string,
  values: readonly string[],
  rows: readonly Row[],
  valueOf: (row: Row) => [value: string, amount: number],
): Series[] {
  const found = new Map(rows.map(valueOf));
  return values.map((value) => [{ [label]: value }, found.get(value) ?? 0]);
}

const gaugesOf = (kinds: readonly string[]): BacklogGauge[] => [
  {
    name: 'uswarm_turns',
    help: 'Turns that are queued, held because an operator suspended the runtime, or running, by state.',
    label: 'state',
    series: ({ turns }) => each('state', TURN_STATES, turns, ({ state, count }) => [state, count]),
  },
  {
    name: 'uswarm_turns_oldest_age_seconds',
    help: 'Age of the oldest turn that does not wait for an earlier turn of its conversation, by state.',
    label: 'state',
    series: ({ turns }) => each('state', TURN_STATES, turns, ({ state, oldestAgeS }) => [state, oldestAgeS]),
  },
  {
    name: 'uswarm_jobs_due',
    help: 'Jobs that are due and not leased.',
    label: 'kind',
    series: ({ jobs }) => each('kind', kinds, jobs, ({ kind, due }) => [kind, due]),
  },
  {
    name: 'uswarm_jobs_leased',
    help: 'Jobs that are leased by a replica.',
    label: 'kind',
    series: ({ jobs }) => each('kind', kinds, jobs, ({ kind, leased }) => [kind, leased]),
  },
  {
    name: 'uswarm_jobs_oldest_due_seconds',
    help: 'Age of the oldest job that is due and not leased.',
    label: 'kind',
    series: ({ jobs }) => each('kind', kinds, jobs, ({ kind, oldestDueAgeS }) => [kind, oldestDueAgeS]),
  },
  {
    name: 'uswarm_relay_unpublished_events',
    help: 'Stored events that are not yet published.',
    series: ({ events }) => plain(events.unpublished),
  },
  {
    name: 'uswarm_relay_oldest_unpublished_seconds',
    help: 'Age of the oldest event that is not yet published.',
    series: ({ events }) => plain(events.oldestAgeS),
  },
  {
    name: 'uswarm_runtimes',
    help: 'Runtimes in the database by phase.',
    label: 'phase',
    series: ({ runtimes }) => each('phase', INTERNAL_PHASES, runtimes, ({ phase, count }) => [phase, count]),
  },
  {
    name: 'uswarm_runtimes_unreachable',
    help: 'Runtimes that the platform finds ready and that have not responded to the orchestrator for 30 s.',
    series: ({ runtimes }) => plain(runtimes.reduce((sum, { unreachable }) => sum + unreachable, 0)),
  },
];

/** All replicas report the same values, and none while Postgres is unavailable. */
export function registerBacklog(registry: Registry, deps: BacklogMetricsDeps): void {
  const read = createSharedRead(deps);
  const up: Gauge = new Gauge({
    name: 'uswarm_database_up',
    help: '1 if Postgres responded during this scrape, else 0.',
    registers: [registry],
    collect: async () => up.set((await read()) === undefined ? 0 : 1),
  });
  for (const { name, help, label, series } of gaugesOf(deps.kinds)) {
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames: label === undefined ? [] : [label],
      registers: [registry],
      async collect() {
        const backlog = await read();
        gauge.reset();
        // After a reset, a gauge without labels reports 0.
        if (backlog === undefined && label === undefined) gauge.remove();
        if (backlog !== undefined) for (const [labels, value] of series(backlog)) gauge.set(labels, value);
      },
    });
  }
}

/**
 * A scrape's gauges share one read, which they await until the deadline. A late read keeps its pool connection, so
 * later scrapes await the same read instead of starting another one.
 */
function createSharedRead({
  database,
  store,
  kinds,
  deadlineMs = DEADLINE_MS,
  maxAgeMs = MAX_AGE_MS,
}: BacklogMetricsDeps) {
  let at = -Infinity;
  let reading: Promise<Backlog | undefined> | undefined;
  let last: Promise<Backlog | undefined> = Promise.resolve(undefined);
  return (): Promise<Backlog | undefined> => {
    if (performance.now() - at < maxAgeMs) return last;
    at = performance.now();
    const late = new AbortController();
    const deadline = sleep(deadlineMs, undefined, { signal: late.signal, ref: false }).catch(() => undefined);
    reading ??= store
      .readBacklog(database, kinds)
      .catch(() => undefined)
      .finally(() => (reading = undefined));
    last = Promise.race([reading, deadline]).finally(() => late.abort());
    return last;
  };
}
