import { describe, expect, it } from '@jest/globals';
import { readScaleSettings } from './scale.mjs';

describe('npm run scale', () => {
  it('makes a thousand in a cluster of its own, which is as others are', () => {
    expect(readScaleSettings([], {})).toEqual({
      swarms: 1_000,
      limitsLifted: false,
      keep: false,
      given: undefined,
      choice: 'auto',
    });
  });

  it('takes another number, and lifts the limits of the cluster', () => {
    const settings = readScaleSettings(['--swarms', '5000', '--lift-limits', '--keep'], { E2E_CLUSTER: 'built' });
    expect(settings).toMatchObject({ swarms: 5_000, limitsLifted: true, keep: true, choice: 'built' });
  });

  it.each([['0'], ['1.5'], ['many'], ['20001']])('refuses %s UserSwarms, and says what it takes', (swarms) => {
    expect(() => readScaleSettings(['--swarms', swarms], {})).toThrow(/1 to 20000[\s\S]*npm run scale/);
  });

  it('refuses to lift the limits of a cluster that it was given', () => {
    const given = { KUBECONFIG: import.meta.filename, E2E_CONTEXT: 'theirs' };
    expect(() => readScaleSettings(['--lift-limits'], given)).toThrow(/--lift-limits/);
  });

  it('refuses what it does not know', () => {
    expect(() => readScaleSettings(['--swarm', '3'], {})).toThrow(/npm run scale/);
    expect(() => readScaleSettings([], { E2E_CLUSTER: 'other' })).toThrow(/E2E_CLUSTER is one of/);
  });
});
