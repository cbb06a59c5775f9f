import type { Latency } from '../load/percentiles.js';
import { atMost, type Goal, goalTable } from '../report/goals.js';

export interface AgentFigures {
  /** Milliseconds to the first text; the runtime calls the model server directly. */
  firstText: Record<'floor' | 'runtime', Latency>;
  /** Characters per second with this number of concurrent turns. */
  throughput: { turns: number; floor: number; runtime: number }[];
  /** Resident memory, compared with a bare Node.js server. */
  memory: { bareMiB: number; atRestMiB: number; afterAnswerMiB: number; peakMiB: number };
  /** Milliseconds to the first text; the gateway is between the caller and the model server. */
  throughGateway: Record<'floor' | 'gateway' | 'runtime', Latency>;
}

/** Design limits; latencies in milliseconds, memory in addition to bare Node.js. */
const GOALS = { runtimeP50: 20, runtimeP99: 60, gatewayP50: 5, throughput: 0.95, atRestMiB: 22, afterAnswerMiB: 32 };

const one = (value: number): string => value.toFixed(1);

/** Two Markdown tables: the measurements, and the goals. */
export function agentTables({ firstText, throughput, memory, throughGateway }: AgentFigures): string {
  const latencies: [string, Latency][] = [
    ['model server', firstText.floor],
    ['runtime → model server', firstText.runtime],
    ['model server, beside the gateway', throughGateway.floor],
    ['gateway → model server', throughGateway.gateway],
    ['runtime → gateway → model server', throughGateway.runtime],
  ];
  const added = (side: Latency, floor: Latency, at: 'p50' | 'p99'): number => side[at] - floor[at];
  const { floor, runtime } = firstText;
  const { gateway, runtime: both, floor: beside } = throughGateway;
  const goals: Goal[] = [
    atMost('runtime: added time to first text, p50', added(runtime, floor, 'p50'), GOALS.runtimeP50, 'ms'),
    atMost('runtime: added time to first text, p99', added(runtime, floor, 'p99'), GOALS.runtimeP99, 'ms'),
    atMost('gateway: added time to first text, p50', added(gateway, beside, 'p50'), GOALS.gatewayP50, 'ms'),
    atMost('both: added time to first text, p50', added(both, beside, 'p50'), GOALS.runtimeP50, 'ms'),
    atMost('both: added time to first text, p99', added(both, beside, 'p99'), GOALS.runtimeP99, 'ms'),
    ...throughput.map((rates): Goal => {
      const ratio = rates.runtime / rates.floor;
      const name = `throughput with ${rates.turns} concurrent turns ≥ ${GOALS.throughput} of the model server's`;
      return [name, ratio.toFixed(3), ratio >= GOALS.throughput];
    }),
    atMost('runtime: memory at rest above bare Node.js', memory.atRestMiB - memory.bareMiB, GOALS.atRestMiB, 'MiB'),
    atMost(
      'runtime: memory after an answer above bare Node.js',
      memory.afterAnswerMiB - memory.bareMiB,
      GOALS.afterAnswerMiB,
      'MiB',
    ),
  ];
  return [
    '| time to the first text, ms | p50 | p95 | p99 | max |',
    '| --- | ---: | ---: | ---: | ---: |',
    ...latencies.map(([name, { p50, p95, p99, max }]) => `| ${[name, ...[p50, p95, p99, max].map(one)].join(' | ')} |`),
    '',
    `Resident memory: bare Node.js ${one(memory.bareMiB)} MiB; the runtime ${one(memory.atRestMiB)} MiB at rest, ${one(memory.afterAnswerMiB)} MiB after an answer, at most ${one(memory.peakMiB)} MiB during the measurements of throughput.`,
    '',
    goalTable(goals),
  ].join('\n');
}
