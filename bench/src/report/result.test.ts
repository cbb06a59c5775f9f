import { describe, expect, it } from '@jest/globals';
import { figuresOf, type Measurements, ratiosOf, type Round, sideOf } from './result.js';
import { table } from './tables.js';

function round(perSecond: number, p99: number, more: Partial<Round> = {}): Round {
  const latency = { p50: 1, p95: p99 / 2, p99, max: p99 * 2 };
  return { requests: perSecond, perSecond, latency, failures: {}, generatorCores: 0.1, serverCores: 0.5, ...more };
}
const sides = (orchestrator: Round, floor: Round) => ({ orchestrator: sideOf([orchestrator]), floor: sideOf([floor]) });

describe('the result of measurements', () => {
  it('contains the median of each metric', () => {
    const side = sideOf([round(100, 30), round(300, 10), round(200, 20)]);
    expect([side.perSecond, side.latency.p99, side.serverCores]).toEqual([200, 20, 0.5]);
    expect(side.rounds).toHaveLength(3);
  });

  it('has no CPU usage if one round has none', () => {
    expect(sideOf([round(1, 1), round(1, 1, { serverCores: null })]).serverCores).toBeNull();
  });

  const measurements: Measurements = {
    'history@100': sides(round(100, 18), round(100, 6)),
    'search@20': sides(round(20, 130), round(20, 100)),
    'send@300': sides(round(200, 40), round(300, 20)),
    'send-most': sides(round(700, 60), round(1_000, 40)),
  };
  const ratios = ratiosOf(measurements);

  it('contains the ratios of latencies and rates to the floor', () => {
    expect(ratios).toEqual({
      'history@100 p99': { value: 3, better: 'lower' },
      'search@20 p95': { value: 1.3, better: 'lower' },
      'send@300 p99': { value: 2, better: 'lower' },
      'send-most requests/s': { value: 0.7, better: 'higher' },
    });
  });

  it('checks targets by latency, by rate and by the ratio to the floor', () => {
    expect(figuresOf(measurements, ratios)).toEqual([
      { promise: 'history page p99 ≤ 20 ms at 100/s', measured: '18.0 ms at 100/s', met: true },
      { promise: 'search p95 ≤ 60 ms at 20/s', measured: '65.0 ms at 20/s', met: false },
      { promise: 'send → durable ack p99 ≤ 50 ms at 300/s', measured: '40.0 ms at 200/s', met: false },
      { promise: "send-most requests/s ≥ 0.85 of the floor's", measured: '0.70', met: false },
    ]);
  });
});

describe('a result table', () => {
  it('has columns as wide as their widest cell', () => {
    expect(
      table([
        ['a', 'long', 'c'],
        ['bb', '1', ''],
      ]),
    ).toBe('a   long  c\nbb     1');
  });
});
