import { CASES } from '../cases.js';
import { type Latency, median } from '../load/percentiles.js';
import type { Measured } from '../load/job.js';
import type { Settings } from '../settings.js';

export type SideName = 'orchestrator' | 'floor';

/** One measurement with the server's CPU usage in cores; null if the system does not report it. */
export interface Round extends Measured {
  serverCores: number | null;
}

/** One side's rounds for a case, and the median per metric. */
export interface Side {
  requests: number;
  perSecond: number;
  latency: Latency;
  generatorCores: number;
  serverCores: number | null;
  rounds: Round[];
}

/** Keys are case names. */
export type Measurements = Record<string, Record<SideName, Side>>;

/** Orchestrator metric divided by the floor's. */
export interface Ratio {
  value: number;
  better: 'higher' | 'lower';
}

/** A target and the measured value. */
export interface Figure {
  promise: string;
  measured: string;
  met: boolean;
}

/** A saved run. */
export interface Result {
  format: 1;
  date: string;
  commit: string;
  /** True if the checkout had uncommitted changes. */
  changed: boolean;
  machine: { cpus: number; model: string; memoryGiB: number; system: string; node: string; postgres: string };
  settings: Settings;
  measurements: Measurements;
  ratios: Record<string, Ratio>;
  figures: Figure[];
}

export function sideOf(rounds: Round[]): Side {
  const of = (pick: (round: Round) => number): number => median(rounds.map(pick));
  const cores = rounds.flatMap(({ serverCores }) => (serverCores === null ? [] : [serverCores]));
  return {
    requests: of(({ requests }) => requests),
    perSecond: of(({ perSecond }) => perSecond),
    latency: {
      p50: of(({ latency }) => latency.p50),
      p95: of(({ latency }) => latency.p95),
      p99: of(({ latency }) => latency.p99),
      max: of(({ latency }) => latency.max),
    },
    generatorCores: of(({ generatorCores }) => generatorCores),
    serverCores: cores.length === rounds.length ? median(cores) : null,
    rounds,
  };
}

/** The latency percentile that the case uses. */
const judgedBy = (name: string): 'p95' | 'p99' => (name.startsWith('search') ? 'p95' : 'p99');

export function ratiosOf(measurements: Measurements): Record<string, Ratio> {
  const ratios: Record<string, Ratio> = {};
  for (const { name, schedule } of CASES) {
    const sides = measurements[name];
    if (sides === undefined) continue;
    const { orchestrator, floor } = sides;
    const percentile = judgedBy(name);
    if (schedule.kind === 'closed') {
      ratios[`${name} requests/s`] = { value: orchestrator.perSecond / floor.perSecond, better: 'higher' };
    } else {
      const value = orchestrator.latency[percentile] / floor.latency[percentile];
      ratios[`${name} ${percentile}`] = { value, better: 'lower' };
    }
  }
  return ratios;
}

/** A rate is achieved if almost all requests were sent. */
const KEPT = 0.98;
const THROUGHPUT = 0.85;

const LATENCIES = [
  { promise: 'history page p99 ≤ 20 ms at 100/s', name: 'history@100', rate: 100, ms: 20 },
  { promise: 'search p95 ≤ 60 ms at 20/s', name: 'search@20', rate: 20, ms: 60 },
  { promise: 'send → durable ack p99 ≤ 50 ms at 300/s', name: 'send@300', rate: 300, ms: 50 },
  { promise: 'aim: send → durable ack p99 ≤ 50 ms at 500/s', name: 'send@500', rate: 500, ms: 50 },
];

export function figuresOf(measurements: Measurements, ratios: Record<string, Ratio>): Figure[] {
  const latencies = LATENCIES.flatMap(({ promise, name, rate, ms }) => {
    const side = measurements[name]?.orchestrator;
    if (side === undefined) return [];
    const value = side.latency[judgedBy(name)];
    const measured = `${value.toFixed(1)} ms at ${side.perSecond.toFixed(0)}/s`;
    return [{ promise, measured, met: value <= ms && side.perSecond >= rate * KEPT }];
  });
  const throughputs = Object.entries(ratios)
    .filter(([, { better }]) => better === 'higher')
    .map(([name, { value }]) => ({
      promise: `${name} ≥ ${THROUGHPUT} of the floor's`,
      measured: value.toFixed(2),
      met: value >= THROUGHPUT,
    }));
  return [...latencies, ...throughputs];
}
