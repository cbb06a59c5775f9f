import { beforeEach, describe, expect, it } from '@jest/globals';
import { type KubernetesObject, START, type UserSwarm } from '@uswarm/contract/userswarm';
import type { Observed } from '../sync/request.js';
import { createStartLimiter, isAboutToStart, type StartLimiter, withQueuedStatus } from './start-limiter.js';

interface Look {
  reason?: string;
  suspend?: boolean;
  resumed?: string;
  made?: string;
}

const userSwarm = (name: string, { reason, suspend = false, resumed, made = '2030-01-01T00:00:00Z' }: Look = {}) =>
  ({
    apiVersion: 'uswarm.dev/v1alpha1',
    kind: 'UserSwarm',
    metadata: { name, uid: name, creationTimestamp: made },
    spec: { suspend },
    status: {
      conditions: [
        ...(reason === undefined ? [] : [{ type: 'Ready', reason }]),
        ...(resumed === undefined ? [] : [{ type: 'Suspended', status: 'False', lastTransitionTime: resumed }]),
      ],
    },
  }) as KubernetesObject;

describe('the start limiter with a limit of two', () => {
  let gate: StartLimiter;
  let woken: string[];
  beforeEach(() => {
    woken = [];
    gate = createStartLimiter({ maxConcurrent: 2, wake: (key) => void woken.push(key) });
  });
  const shows = (name: string, look: Look): void => gate.changed({ after: userSwarm(name, look) });
  const admitted = (...names: string[]): boolean[] => names.map((name) => gate.admit(userSwarm(name)));

  it('admits runtimes up to the limit, and the next one when a start has completed', () => {
    expect(admitted('a', 'b', 'c')).toEqual([true, true, false]);
    expect([gate.starting(), gate.queued()]).toEqual([2, 1]);
    shows('a', { reason: 'Starting' });
    shows('c', { reason: 'Queued' });
    expect([woken, gate.starting()]).toEqual([[], 2]);
    shows('a', { reason: 'Available' });
    expect(woken).toEqual(['c']);
    expect(admitted('c')).toEqual([true]);
    expect([gate.starting(), gate.queued()]).toEqual([2, 0]);
  });

  it('frees the slot of a runtime that fails, is suspended or is deleted', () => {
    const ends: Record<string, () => void> = {
      fails: () => shows('a', { reason: 'ImagePullBackOff' }),
      suspended: () => shows('a', { reason: 'Starting', suspend: true }),
      gone: () => gate.changed({ before: userSwarm('a') }),
      refused: () => gate.forget('a'),
    };
    for (const [how, end] of Object.entries(ends)) {
      admitted('a', 'b', 'c');
      woken = [];
      end();
      expect([how, woken]).toEqual([how, ['c']]);
      for (const name of ['a', 'b', 'c']) gate.changed({ before: userSwarm(name) });
    }
  });

  it('admits runtimes in the order of creation or resume', () => {
    admitted('x', 'y');
    const at = (second: number): string => `2030-01-01T00:00:0${second}Z`;
    gate.admit(userSwarm('late', { made: at(5) }));
    gate.admit(userSwarm('resumed', { made: at(0), resumed: at(4) }));
    gate.admit(userSwarm('early', { made: at(3) }));
    shows('x', { reason: 'Available' });
    shows('y', { reason: 'Available' });
    expect(woken).toEqual(['early', 'resumed']);
    expect(gate.admit(userSwarm('late', { made: at(5) }))).toBe(false);
    expect(gate.admit(userSwarm('early', { made: at(3) }))).toBe(true);
    expect(gate.admit(userSwarm('late', { made: at(5) }))).toBe(false);
    expect(gate.admit(userSwarm('resumed', { made: at(0), resumed: at(4) }))).toBe(true);
  });

  it('skips a queued runtime that no longer starts', () => {
    admitted('a', 'b', 'c', 'd');
    gate.forget('c');
    shows('a', { reason: 'Available' });
    expect(woken).toEqual(['d']);
  });

  it('counts runtimes that another leader admitted', () => {
    for (const name of ['a', 'b']) shows(name, { reason: 'Starting' });
    admitted('c');
    gate.reset();
    expect([gate.starting(), gate.queued(), ...admitted('a', 'c')]).toEqual([2, 0, true, false]);
  });

  it('admits all runtimes without a limit', () => {
    gate = createStartLimiter({ maxConcurrent: 0, wake: () => {} });
    expect(admitted(...'abcdefgh')).toEqual(Array.from({ length: 8 }, () => true));
  });
});

describe('isAboutToStart', () => {
  const observed = (deployment?: object): Observed => ({
    'ServiceAccount.v1': {},
    'Service.v1': {},
    'Deployment.apps/v1':
      deployment === undefined ? {} : { 'userswarms/agent-runtime-a': deployment as KubernetesObject },
  });

  it.each([
    ['one without a Deployment', undefined, {}, true],
    ['one that resumes', { metadata: {}, spec: { replicas: 0 } }, {}, true],
    ['one whose Deployment goes', { metadata: { deletionTimestamp: 'now' }, spec: { replicas: 1 } }, {}, true],
    ['one that runs', { metadata: {}, spec: { replicas: 1 } }, {}, false],
    ['one that is suspended', undefined, { suspend: true }, false],
  ])('%s', (_what, deployment, look, starts) => {
    expect(isAboutToStart(userSwarm('a', look), observed(deployment))).toBe(starts);
  });

  it('adds the queued annotation only to the request and removes a foreign one', () => {
    const parent = userSwarm('a') as unknown as UserSwarm;
    expect(withQueuedStatus(parent, false)).toBe(parent);
    expect(withQueuedStatus(parent, true).metadata.annotations).toEqual({ [START]: 'queued' });
    expect(parent.metadata.annotations).toBeUndefined();
    const theirs = { ...parent, metadata: { ...parent.metadata, annotations: { [START]: 'queued', note: 'x' } } };
    expect(withQueuedStatus(theirs, false).metadata.annotations).toEqual({ note: 'x' });
  });
});
