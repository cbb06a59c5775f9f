import { describe, expect, it } from '@jest/globals';
import type { Latency } from '../load/percentiles.js';
import { type AgentFigures, agentTables } from './agent-tables.js';

const latency = (p50: number, p99 = p50): Latency => ({ p50, p95: p99, p99, max: p99 });

const figures = (changes: Partial<AgentFigures> = {}): AgentFigures => ({
  firstText: { floor: latency(2, 5), runtime: latency(12, 40) },
  throughput: [{ turns: 1, floor: 200, runtime: 200 }],
  memory: { bareMiB: 50, atRestMiB: 60, afterAnswerMiB: 80, peakMiB: 90 },
  throughGateway: { floor: latency(2, 5), gateway: latency(6, 9), runtime: latency(14, 50) },
  ...changes,
});

/** Goal → whether it is met. */
const verdicts = (changes?: Partial<AgentFigures>): Record<string, string> =>
  Object.fromEntries(
    agentTables(figures(changes))
      .split('\n')
      .filter((line) => /\| (yes|NO) \|$/.test(line))
      .map((line) => line.split(' | '))
      .map(([goal = '', measured = '', met = '']) => [goal.slice(2), `${measured} ${met.slice(0, -2)}`]),
  );

describe('the tables of the turns', () => {
  it('subtract the time of the model server that was measured beside each side', () => {
    expect(verdicts()).toEqual({
      'runtime: added time to first text, p50 ≤ 20 ms': '10.0 ms yes',
      'runtime: added time to first text, p99 ≤ 60 ms': '35.0 ms yes',
      'gateway: added time to first text, p50 ≤ 5 ms': '4.0 ms yes',
      'both: added time to first text, p50 ≤ 20 ms': '12.0 ms yes',
      'both: added time to first text, p99 ≤ 60 ms': '45.0 ms yes',
      "throughput with 1 concurrent turns ≥ 0.95 of the model server's": '1.000 yes',
      'runtime: memory at rest above bare Node.js ≤ 22 MiB': '10.0 MiB yes',
      'runtime: memory after an answer above bare Node.js ≤ 32 MiB': '30.0 MiB yes',
    });
  });

  it('mark goals that are missed', () => {
    const missed = verdicts({
      throughput: [{ turns: 100, floor: 100, runtime: 94 }],
      memory: { bareMiB: 50, atRestMiB: 72.2, afterAnswerMiB: 82, peakMiB: 90 },
    });
    expect(missed).toMatchObject({
      "throughput with 100 concurrent turns ≥ 0.95 of the model server's": '0.940 NO',
      'runtime: memory at rest above bare Node.js ≤ 22 MiB': '22.2 MiB NO',
      'runtime: memory after an answer above bare Node.js ≤ 32 MiB': '32.0 MiB yes',
    });
  });
});
