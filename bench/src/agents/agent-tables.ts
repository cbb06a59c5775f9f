import type { Latency } from '../load/percentiles.js';

export interface AgentFigures {
  /** Milliseconds to the first text. */
  firstText: Record<'floor' | 'runtime', Latency>;
  /** Characters per second with this number of concurrent turns. */
  throughput: { turns: number; floor: number; runtime: number }[];
  /** Resident memory of the runtime. */
  memory: { atRestMiB: number; peakMiB: number };
  /** Milliseconds to the first text through the model gateway. */
  gateway: Record<'floor' | 'gateway', Latency>;
}

/** The limits of the design. */
const GOALS = { runtimeP50: 20, runtimeP99: 60, gatewayP50: 5, throughput: 0.95 };

const ms = (value: number): string => value.toFixed(1);

/** Two Markdown tables: the measurements, and the goals. */
export function agentTables({ firstText, throughput, memory, gateway }: AgentFigures): string {
  const latencies: [string, Latency][] = [
    ['model server', firstText.floor],
    ['runtime', firstText.runtime],
    ['model server, beside the gateway', gateway.floor],
    ['model gateway', gateway.gateway],
  ];
  const added = (side: Latency, floor: Latency, at: 'p50' | 'p99'): number => side[at] - floor[at];
  const goals: [string, string, boolean][] = [
    limit('runtime: added time to first text, p50', added(firstText.runtime, firstText.floor, 'p50'), GOALS.runtimeP50),
    limit('runtime: added time to first text, p99', added(firstText.runtime, firstText.floor, 'p99'), GOALS.runtimeP99),
    limit('gateway: added time to first text, p50', added(gateway.gateway, gateway.floor, 'p50'), GOALS.gatewayP50),
    ...throughput.map(({ turns, floor, runtime }): [string, string, boolean] => {
      const ratio = runtime / floor;
      const name = `throughput with ${turns} concurrent turns ≥ ${GOALS.throughput} of the model server's`;
      return [name, ratio.toFixed(3), ratio >= GOALS.throughput];
    }),
  ];
  return [
    '| time to the first text, ms | p50 | p95 | p99 | max |',
    '| --- | ---: | ---: | ---: | ---: |',
    ...latencies.map(([name, { p50, p95, p99, max }]) => `| ${[name, ...[p50, p95, p99, max].map(ms)].join(' | ')} |`),
    '',
    `Resident memory of the runtime: ${memory.atRestMiB.toFixed(1)} MiB at rest, at most ${memory.peakMiB.toFixed(1)} MiB.`,
    '',
    '| goal | measured | met |',
    '| --- | ---: | --- |',
    ...goals.map(([name, measured, met]) => `| ${name} | ${measured} | ${met ? 'yes' : 'NO'} |`),
  ].join('\n');
}

function limit(name: string, measured: number, most: number): [string, string, boolean] {
  return [`${name} ≤ ${most} ms`, `${ms(measured)} ms`, measured <= most];
}
