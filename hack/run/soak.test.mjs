import { describe, expect, it } from '@jest/globals';
import { readSoakSettings } from './soak.mjs';

describe('npm run soak', () => {
  it('runs for ten minutes by default', () => {
    expect(readSoakSettings([])).toEqual({ USWARM_SOAK_MINUTES: '10' });
  });

  it('repeats a failure by its seed, which can be negative, and its path', () => {
    expect(readSoakSettings(['--minutes', '0.5', '--seed', '-182', '--path', '2:1:0'])).toEqual({
      USWARM_SOAK_MINUTES: '0.5',
      USWARM_SOAK_SEED: '-182',
      USWARM_SOAK_PATH: '2:1:0',
    });
  });

  it('stops the orchestrator for the given seconds', () => {
    expect(readSoakSettings(['--away', '120'])).toEqual({ USWARM_SOAK_AWAY_S: '120' });
  });

  it.each([
    [['--away', '0'], '--away must be a positive number'],
    [['--minutes', '0'], '--minutes must be a positive number'],
    [['--minutes', 'x'], '--minutes must be a positive number'],
    [['--seed', 'x'], '--seed must be an integer'],
    [['--path', '1:2'], '--path must be a path that a failure printed'],
    [['--seed', '1', '--path', 'x'], '--path must be a path that a failure printed'],
    [['--hours', '1'], 'Usage: npm run soak'],
  ])('rejects %j', (args, message) => {
    expect(() => readSoakSettings(args)).toThrow(message);
  });
});
