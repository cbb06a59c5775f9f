import { describe, expect, it } from '@jest/globals';
import {
  createObservations,
  type ModelObservation,
  repeatedCalls,
  stepTimes,
  type ToolObservation,
} from './observations.js';

const asked = (results: number, at: number, turn = 'turn-1'): ModelObservation => ({
  what: 'asked',
  at,
  turn,
  results,
});
const answered = (results: number, at: number): ModelObservation => ({ what: 'answered', at, turn: 'turn-1', results });
const searched = (step: number, from: number, at: number): ToolObservation => ({
  what: 'searched',
  from,
  at,
  query: `turn-1 ${step}`,
});

describe('stepTimes', () => {
  it('are the times between an answer with a call and the next request, without the time of the tool', () => {
    const steps = [
      asked(0, 0),
      answered(0, 10),
      searched(0, 14, 40),
      asked(1, 45),
      answered(1, 50),
      searched(1, 52, 80),
    ];
    expect(stepTimes([...steps, asked(2, 81), answered(2, 90)])).toEqual([9, 3]);
  });
});

describe('repeatedCalls', () => {
  const turn = [asked(0, 0), searched(0, 1, 2), asked(1, 3), asked(1, 4), searched(1, 5, 6), asked(2, 7)];

  it('does not count a model call that a kill interrupted', () => {
    expect(repeatedCalls(turn, 'turn-1', 1)).toBe(0);
  });

  it('counts a repeated model call and a repeated call of a tool', () => {
    expect(repeatedCalls([...turn, asked(0, 8)], 'turn-1', 1)).toBe(1);
    expect(repeatedCalls([...turn, searched(1, 8, 9)], 'turn-1', 1)).toBe(1);
  });

  it('ignores other turns', () => {
    expect(repeatedCalls([...turn, asked(0, 8, 'turn-10'), asked(0, 9, 'turn-10')], 'turn-1', 1)).toBe(0);
  });
});

describe('createObservations', () => {
  it('finds past and future observations after a time', async () => {
    const observations = createObservations();
    observations.add(asked(1, 5));
    const later = observations.saw('asked', 'turn-1', 1, 6);
    observations.add(asked(2, 7));
    observations.add(asked(1, 8));
    expect(await later).toMatchObject({ at: 8 });
    expect(await observations.saw('asked', 'turn-1')).toMatchObject({ at: 5 });
  });

  it('fails after its deadline', async () => {
    await expect(createObservations(10).saw('cut', 'turn-1')).rejects.toThrow('"cut" of turn-1');
  });
});
