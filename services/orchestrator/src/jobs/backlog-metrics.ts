import { setTimeout as sleep } from 'node:timers/promises';
import type { Registry } from '@uswarm/service-kit';
import { Gauge } from 'prom-client';
import { INTERNAL_PHASES } from '../database/schema.js';
import { type Backlog, type BacklogStore, TURN_STATES } from './backlog.store.js';

export interface BacklogMetricsDeps {
  store: BacklogStore;
  /** All kinds of work that there are. */
  kinds: readonly string[];
  /** Milliseconds that a scrape waits for the database. */
  deadlineMs?: number;
  /** Milliseconds for which one look is good enough for several scrapes. */
  maxAgeMs?: number;
}

type Series = [labels: Record<string, string>, value: number];
interface Figure {
  name: string;
  help: string;
  label?: string;
  series: (backlog: Backlog) => Series[];
}

/** Prometheus gives a scrape up after ten seconds, and the other figures are wanted most when the database is away. */
const DEADLINE_MS = 2_000;
const MAX_AGE_MS = 2_000;

const plain = (value: number): Series[] => [[{}, value]];

/** One series for each of `values`, with 0 for those of which there is nothing. */
function each<Row>(
  label: string,
  values: readonly string[],
  rows: readonly Row[],
  valueOf: (row: Row) => [value: string, amount: number],
): Series[] {
  const found = new Map(rows.map(valueOf));
  return values.map((value) => [{ [label]: value }, found.get(value) ?? 0]);
}

const figuresOf = (kinds: readonly string[]): Figure[] => [
  {
    name: 'uswarm_turns',
    help: 'Replies that are queued, held because somebody suspended the runtime, or running.',
    label: 'state',
    series: ({ turns }) => each('state', TURN_STATES, turns, ({ state, count }) => [state, count]),
  },
  {
    name: 'uswarm_turns_oldest_age_seconds',
    help: 'Age of the oldest reply in this state that waits for no earlier one of its conversation.',
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
    help: 'Events that are stored and not published yet; up to 100,000 are counted.',
    series: ({ events }) => plain(events.unpublished),
  },
  {
    name: 'uswarm_relay_oldest_unpublished_seconds',
    help: 'Age of the oldest event that is not published yet.',
    series: ({ events }) => plain(events.oldestAgeS),
  },
  {
    name: 'uswarm_runtimes',
    help: 'Runtimes by phase, as the database has them.',
    label: 'phase',
    series: ({ runtimes }) => each('phase', INTERNAL_PHASES, runtimes, ({ phase, count }) => [phase, count]),
  },
];

/** What waits in Postgres; every replica says the same. While Postgres does not answer, nothing is said of it. */
export function registerBacklog(registry: Registry, deps: BacklogMetricsDeps): void {
  const look = createLook(deps);
  const up: Gauge = new Gauge({
    name: 'uswarm_database_up',
    help: '1 if Postgres answered during this scrape, else 0.',
    registers: [registry],
    collect: async () => up.set((await look()) === undefined ? 0 : 1),
  });
  for (const { name, help, label, series } of figuresOf(deps.kinds)) {
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames: label === undefined ? [] : [label],
      registers: [registry],
      async collect() {
        const backlog = await look();
        gauge.reset();
        // A gauge without labels would say 0.
        if (backlog === undefined && label === undefined) gauge.remove();
        if (backlog !== undefined) for (const [labels, value] of series(backlog)) gauge.set(labels, value);
      },
    });
  }
}

/**
 * All gauges of a scrape share one look, and one that takes too long is not waited for. While it goes on it has its
 * connection of the pool, so there is no second one beside it: later scrapes wait for it as well.
 */
function createLook({ store, kinds, deadlineMs = DEADLINE_MS, maxAgeMs = MAX_AGE_MS }: BacklogMetricsDeps) {
  let at = -Infinity;
  let reading: Promise<Backlog | undefined> | undefined;
  let last: Promise<Backlog | undefined> = Promise.resolve(undefined);
  return (): Promise<Backlog | undefined> => {
    if (performance.now() - at < maxAgeMs) return last;
    at = performance.now();
    const late = new AbortController();
    const deadline = sleep(deadlineMs, undefined, { signal: late.signal, ref: false }).catch(() => undefined);
    reading ??= store
      .read(kinds)
      .catch(() => undefined)
      .finally(() => (reading = undefined));
    last = Promise.race([reading, deadline]).finally(() => late.abort());
    return last;
  };
}
