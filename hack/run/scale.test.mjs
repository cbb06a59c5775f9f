import { describe, expect, it } from '@jest/globals';
import { readScaleSettings } from './scale.mjs';

describe('npm run scale', () => {
  it('creates a cluster with 1000 UserSwarms and the default limits', () => {
    expect(readScaleSettings([], {})).toEqual({
      swarms: 1_000,
      limitsLifted: false,
      keep: false,
      given: undefined,
      choice: 'auto',
    });
  });

  it('accepts another number of UserSwarms and lifts the limits of the cluster', () => {
    const settings = readScaleSettings(['--swarms', '5000', '--lift-limits', '--keep'], { E2E_CLUSTER: 'built' });
    expect(settings).toMatchObject({ swarms: 5_000, limitsLifted: true, keep: true, choice: 'built' });
  });

  it.each([['0'], ['1.5'], ['many'], ['20001']])('rejects %s UserSwarms with the allowed range', (swarms) => {
    expect(() => readScaleSettings(['--swarms', swarms], {})).toThrow(/1 to 20000[\s\S]*npm run scale/);
  });

  it('rejects --lift-limits for an existing cluster', () => {
    const given = { KUBECONFIG: import.meta.filename, E2E_CONTEXT: 'theirs' };
    expect(() => readScaleSettings(['--lift-limits'], given)).toThrow(/--lift-limits/);
  });

  it('rejects unknown options and values', () => {
    expect(() => readScaleSettings(['--swarm', '3'], {})).toThrow(/npm run scale/);
    expect(() => readScaleSettings([], { E2E_CLUSTER: 'other' })).toThrow(/E2E_CLUSTER must be one of/);
  });
});
