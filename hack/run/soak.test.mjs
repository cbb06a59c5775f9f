import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { createStop, readSoakSettings } from './soak.mjs';

describe('npm run soak', () => {
  it('runs faults of turns for ten minutes by default', () => {
    expect(readSoakSettings([])).toMatchObject({ property: 'turns', environment: { USWARM_SOAK_MINUTES: '10' } });
  });

  it('runs the named faults, and does not time out before the end', () => {
    expect(readSoakSettings(['realtime', '--minutes', '60'])).toEqual({
      property: 'realtime',
      timeoutMs: 75 * 60_000,
      environment: { USWARM_SOAK_MINUTES: '60' },
    });
  });

  it('repeats a failure by its seed, which can be negative, and its path', () => {
    expect(readSoakSettings(['--minutes', '0.5', '--seed', '-182', '--path', '2:1:0']).environment).toEqual({
      USWARM_SOAK_MINUTES: '0.5',
      USWARM_SOAK_SEED: '-182',
      USWARM_SOAK_PATH: '2:1:0',
    });
  });

  it('stops the orchestrator for the given seconds', () => {
    expect(readSoakSettings(['reconnect'])).toEqual({
      property: 'reconnect',
      timeoutMs: 17 * 60_000,
      environment: { USWARM_SOAK_AWAY_S: '120' },
    });
  });

  it.each([
    [['reconnect', '--away', '0'], '--away must be a positive number'],
    [['--minutes', '0'], '--minutes must be a positive number'],
    [['--minutes', 'x'], '--minutes must be a positive number'],
    [['--seed', 'x'], '--seed must be an integer'],
    [['--path', '1:2'], '--path must be a path that a failure printed'],
    [['--seed', '1', '--path', 'x'], '--path must be a path that a failure printed'],
    [['--hours', '1'], 'Usage: npm run soak'],
    [['sockets'], 'Name one kind of faults'],
  ])('rejects %j', (args, message) => {
    expect(() => readSoakSettings(args)).toThrow(message);
  });
});

describe('an interrupted soak test', () => {
  it('ends by itself after the first signal, and is killed by the second one', () => {
    const folder = mkdtempSync(join(tmpdir(), 'uswarm-soak-test-'));
    const file = join(folder, 'stop');
    const killed = [];
    const stop = createStop(file);
    try {
      stop({ kill: (signal) => killed.push(signal) }, 'SIGINT');
      expect({ killed, stops: existsSync(file) }).toEqual({ killed: [], stops: true });
      stop({ kill: (signal) => killed.push(signal) }, 'SIGTERM');
      expect(killed).toEqual(['SIGTERM']);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
