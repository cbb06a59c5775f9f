import { beforeEach, describe, expect, it } from '@jest/globals';
import { START, type UserSwarm } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-client';
import type { Observed } from '../sync/request.js';
import { createStartLimiter, isAboutToStart, type StartLimiter, withQueuedStatus } from './start-limiter.js';

interface ObservedState {
  reason?: string;
  suspend?: boolean;
  resumed?: string;
  created?: string;
}

const userSwarm = (
  name: string,
  { reason, suspend = false, resumed, created = '2030-01-01T00:00:00Z' }: ObservedState = {},
) =>
  ({
    apiVersion: 'uswarm.dev/v1alpha1',
    kind: 'UserSwarm',
    metadata: { name, uid: name, creationTimestamp: created },
    spec: { suspend },
    status: {
      conditions: [
        ...(reason === undefined ? [] : [{ type: 'Ready', reason }]),
        ...(resumed === undefined ? [] : [{ type: 'Suspended', status: 'False', lastTransitionTime: resumed }]),
      ],
    },
  }) as KubernetesObject;

describe('the start limiter with a limit of two', () => {
  let limiter: StartLimiter;
  let woken: string[];
  beforeEach(() => {
    woken = [];
    limiter = createStartLimiter({ maxConcurrent: 2, wake: (key) => void woken.push(key) });
  });
  const observe = (name: string, state: ObservedState): void => limiter.changed({ after: userSwarm(name, state) });
  const admitted = (...names: string[]): boolean[] => names.map((name) => limiter.admit(userSwarm(name)));

  it('admits runtimes up to the limit, and the next one when a start has completed', () => {
    expect(admitted('a', 'b', 'c')).toEqual([true, true, false]);
    expect({ starting: limiter.starting(), queued: limiter.queued() }).toEqual({ starting: 2, queued: 1 });
    observe('a', { reason: 'Starting' });
    observe('c', { reason: 'Queued' });
    expect({ woken, starting: limiter.starting() }).toEqual({ woken: [], starting: 2 });
    observe('a', { reason: 'Available' });
    expect(woken).toEqual(['c']);
    expect(admitted('c')).toEqual([true]);
    expect({ starting: limiter.starting(), queued: limiter.queued() }).toEqual({ starting: 2, queued: 0 });
  });

  it('frees the slot of a runtime that fails, is suspended or is deleted', () => {
    const ends: Record<string, () => void> = {
      fails: () => observe('a', { reason: 'ImagePullBackOff' }),
      suspended: () => observe('a', { reason: 'Starting', suspend: true }),
      deleted: () => limiter.changed({ before: userSwarm('a') }),
      refused: () => limiter.forget('a'),
    };
    for (const [how, end] of Object.entries(ends)) {
      admitted('a', 'b', 'c');
      woken = [];
      end();
      expect({ how, woken }).toEqual({ how, woken: ['c'] });
      for (const name of ['a', 'b', 'c']) limiter.changed({ before: userSwarm(name) });
    }
  });

  it('admits runtimes in the order of creation or resume', () => {
    admitted('x', 'y');
    const at = (second: number): string => `2030-01-01T00:00:0${second}Z`;
    limiter.admit(userSwarm('late', { created: at(5) }));
    limiter.admit(userSwarm('resumed', { created: at(0), resumed: at(4) }));
    limiter.admit(userSwarm('early', { created: at(3) }));
    observe('x', { reason: 'Available' });
    observe('y', { reason: 'Available' });
    expect(woken).toEqual(['early', 'resumed']);
    expect(limiter.admit(userSwarm('late', { created: at(5) }))).toBe(false);
    expect(limiter.admit(userSwarm('early', { created: at(3) }))).toBe(true);
    expect(limiter.admit(userSwarm('late', { created: at(5) }))).toBe(false);
    expect(limiter.admit(userSwarm('resumed', { created: at(0), resumed: at(4) }))).toBe(true);
  });

  it('skips a queued runtime that no longer starts', () => {
    admitted('a', 'b', 'c', 'd');
    limiter.forget('c');
    observe('a', { reason: 'Available' });
    expect(woken).toEqual(['d']);
  });

  it('counts runtimes that another leader admitted', () => {
    for (const name of ['a', 'b']) observe(name, { reason: 'Starting' });
    admitted('c');
    limiter.reset();
    expect({ starting: limiter.starting(), queued: limiter.queued() }).toEqual({ starting: 2, queued: 0 });
    expect(admitted('a', 'c')).toEqual([true, false]);
  });

  it('admits all runtimes without a limit', () => {
    limiter = createStartLimiter({ maxConcurrent: 0, wake: () => {} });
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
    ['true for a runtime without a Deployment', undefined, {}, true],
    ['true for a runtime that resumes', { metadata: {}, spec: { replicas: 0 } }, {}, true],
    [
      'true for a runtime whose Deployment is terminating',
      { metadata: { deletionTimestamp: 'now' }, spec: { replicas: 1 } },
      {},
      true,
    ],
    ['false for a runtime that is running', { metadata: {}, spec: { replicas: 1 } }, {}, false],
    ['false for a suspended runtime', undefined, { suspend: true }, false],
  ])('returns %s', (_what, deployment, state, starts) => {
    expect(isAboutToStart(userSwarm('a', state), observed(deployment))).toBe(starts);
  });

  it('adds the queued annotation only to the request and removes a foreign one', () => {
    const parent = userSwarm('a') as unknown as UserSwarm;
    expect(withQueuedStatus(parent, false)).toBe(parent);
    expect(withQueuedStatus(parent, true).metadata.annotations).toEqual({ [START]: 'queued' });
    expect(parent.metadata.annotations).toBeUndefined();
    const annotated = { ...parent, metadata: { ...parent.metadata, annotations: { [START]: 'queued', note: 'x' } } };
    expect(withQueuedStatus(annotated, false).metadata.annotations).toEqual({ note: 'x' });
  });
});
