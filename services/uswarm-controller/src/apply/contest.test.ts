import { describe, expect, it } from '@jest/globals';
import { type Contest, differences, lastOtherManager, nextRound, pauseOf } from './contest.js';

/** Correction times in milliseconds if another client reverts each one immediately. */
function correctionTimes(untilMs: number): number[] {
  const times: number[] = [];
  let known: Contest | undefined;
  for (let now = 0; now <= untilMs; now += 100) {
    if (pauseOf(known, 'spec', now) > 0) continue;
    known = nextRound(known, 'spec', now);
    times.push(now);
  }
  return times;
}

describe('the back-off for contested fields', () => {
  it('allows the first correction immediately, and at most six per minute', () => {
    const times = correctionTimes(600_000);
    expect(times[0]).toBe(0);
    const perMinute = times.map((start) => times.filter((at) => at >= start && at < start + 60_000).length);
    expect(Math.max(...perMinute)).toBeLessThanOrEqual(6);
    // The longest pause, after which a correction lasts if the other client has stopped.
    expect(Math.max(...times.slice(1).map((at, index) => at - times[index]!))).toBeLessThanOrEqual(30_000);
  });

  it('does not delay other fields, or the same fields after a quiet minute', () => {
    const known = { fields: 'a', rounds: 5, at: 1_000 };
    expect(pauseOf(known, 'a', 2_000)).toBe(15_000);
    expect(pauseOf(known, 'b', 2_000)).toBe(0);
    expect(pauseOf(known, 'a', 61_000)).toBe(0);
    expect(nextRound(known, 'a', 2_000).rounds).toBe(6);
    expect(nextRound(known, 'a', 61_000).rounds).toBe(1);
    expect(nextRound(known, 'b', 2_000).rounds).toBe(1);
  });

  it('identifies fields by their paths', () => {
    const spec = { replicas: 1, containers: [{ image: 'a', env: [{ name: 'x', value: '1' }] }] };
    expect(differences(spec, spec)).toBe('');
    expect(differences(spec, { ...spec, replicas: 2 })).toBe('/replicas');
    const other = { containers: [{ image: 'b', env: [] }], paused: true };
    expect(differences(spec, other)).toBe('/containers/0/env /containers/0/image /paused /replicas');
    expect(differences({ a: [] }, { a: {} })).toBe('/a');
  });

  it('returns the last other field manager, ignoring status writes', () => {
    const managed = [
      { manager: 'kubectl-edit', time: '2030-01-01T00:00:00Z' },
      { manager: 'kyverno', time: '2030-01-01T00:00:02Z' },
      { manager: 'uswarm-controller', time: '2030-01-01T00:00:03Z' },
      { manager: 'kube-controller-manager', subresource: 'status', time: '2030-01-01T00:00:04Z' },
    ];
    expect(lastOtherManager(managed, 'uswarm-controller')).toBe('kyverno');
    expect(lastOtherManager([], 'uswarm-controller')).toBeUndefined();
  });
});
