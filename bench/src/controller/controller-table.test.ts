import { describe, expect, it } from '@jest/globals';
import { controllerTable } from './controller-table.js';

const phase = (cpuS: number, syncs: number) => ({ cpuS, collectionS: 0.5, syncs, writes: 700, seconds: 4 });

describe('the table of the controller', () => {
  it('shows the processor time of each phase for one UserSwarm and for one reconcile', () => {
    const table = controllerTable({
      swarms: 100,
      peakMiB: 200.4,
      phases: { ready: phase(1, 250), rest: phase(0.2, 400), deleted: phase(0.3, 200) },
    });
    expect(table.split('\n').filter((line) => /^\| (ready|rest|deleted)/.test(line))).toEqual([
      '| ready | 1.00 | 10.00 | 4.00 | 0.50 | 2.50 | 7.00 | 4.0 |',
      '| rest | 0.20 | 2.00 | 0.50 | 0.50 | 4.00 | 7.00 | 4.0 |',
      '| deleted | 0.30 | 3.00 | 1.50 | 0.50 | 2.00 | 7.00 | 4.0 |',
    ]);
    expect(table).toContain('at most 200 MiB');
  });

  it.each([
    [0.8, 'yes'],
    [0.9, 'NO'],
  ])('compares %s s for 100 UserSwarms with the goal: %s', (cpuS, met) => {
    const phases = { ready: phase(cpuS, 250), rest: phase(0.2, 400), deleted: phase(0.3, 200) };
    const goal = new RegExp(`^\\| CPU until Ready, per UserSwarm ≤ 8 ms .*\\| ${met} \\|$`, 'm');
    expect(controllerTable({ swarms: 100, peakMiB: 200, phases })).toMatch(goal);
  });
});
