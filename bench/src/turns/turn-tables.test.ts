import { describe, expect, it } from '@jest/globals';
import { type TurnFigures, turnTables } from './turn-tables.js';

const figures = (changes: Partial<TurnFigures> = {}): TurnFigures => ({
  steps: [12, 15, 40],
  stops: [30, 900],
  starts: [400, 500, 600],
  kills: { times: [900, 3_400], repeated: 0 },
  choices: [60, 990],
  delegations: {
    overheads: [{ tasks: 1, times: [90] }],
    streaming: { tasks: 5, rate: 1, restMiB: 70, peakMiB: 90 },
  },
  load: { turns: 300, lag: { p50: 11, p99: 48, max: 90 }, rate: 0.99, orchestratorCores: 0.7 },
  ...changes,
});

/** Whether the goals are met, in their order. */
const met = (changes?: Partial<TurnFigures>): (string | undefined)[] =>
  turnTables(figures(changes))
    .split('\n')
    .map((line) => / (yes|NO) \|$/.exec(line)?.[1])
    .filter((verdict) => verdict !== undefined);

describe('the tables of turns with tools', () => {
  it('subtract the start of a runtime from the time after a kill', () => {
    expect(met()).toEqual(['yes', 'yes', 'yes', 'yes', 'yes', 'yes', 'yes']);
    expect(turnTables(figures())).toContain('beyond the start of a runtime, max ≤ 3000 ms | 2900.0 ms | yes');
  });

  it('mark goals that are missed', () => {
    expect(
      met({
        steps: [21, 81, 81],
        stops: [1_001],
        kills: { times: [3_501], repeated: 1 },
        choices: [1_001],
        load: { turns: 300, lag: { p50: 11, p99: 51, max: 90 }, rate: 0.99, orchestratorCores: 0.7 },
      }),
    ).toEqual(['NO', 'NO', 'NO', 'NO', 'NO', 'NO', 'NO']);
  });
});
