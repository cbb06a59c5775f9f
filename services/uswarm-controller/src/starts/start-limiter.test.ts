import { beforeEach, describe, expect, it } from '@jest/globals';
import type { KubernetesObject } from '@uswarm/kube-client';
import { createCountingCompare } from '../../test/counting-compare.js';
import { createStartLimiter, SLOT_MS, type StartLimiter } from './start-limiter.js';
import type { Compare } from './start-queue.js';

const time = (second: number): string =>
  new Date(Date.UTC(2030, 0, 1) + second * 1_000).toISOString().replace('.000Z', 'Z');

interface ObservedState {
  reason?: string;
  /** When `Ready` became False, in seconds. */
  unreadySince?: number;
  /** When `Suspended` became False, in seconds. */
  runsSince?: number;
  createdAt?: number;
}

const userSwarm = (
  name: string,
  { reason, unreadySince = 0, runsSince = 0, createdAt = 0 }: ObservedState = {},
): KubernetesObject => ({
  apiVersion: 'uswarm.dev/v1alpha1',
  kind: 'UserSwarm',
  metadata: { name, uid: name, creationTimestamp: time(createdAt) },
  spec: { suspend: false },
  status:
    reason === undefined
      ? {}
      : {
          conditions: [
            { type: 'Ready', status: 'False', reason, lastTransitionTime: time(unreadySince) },
            { type: 'Suspended', status: 'False', reason: 'NotSuspended', lastTransitionTime: time(runsSince) },
          ],
        },
});

describe('the start limiter', () => {
  let limiter: StartLimiter;
  let woken: string[];
  let now: number;
  const create = (maxConcurrent: number, compare?: Compare): void => {
    woken = [];
    now = 0;
    limiter = createStartLimiter({
      maxConcurrent,
      wake: (key) => void woken.push(key),
      elapsed: () => now,
      ...(compare === undefined ? {} : { compare }),
    });
  };
  beforeEach(() => create(2));
  const observe = (name: string, state: ObservedState): void => limiter.changed({ after: userSwarm(name, state) });
  const admit = (...names: string[]): boolean[] => names.map((name) => limiter.admit(userSwarm(name)));

  it.each([
    ['was Ready before', { reason: 'Starting', unreadySince: 60 }],
    ['was Ready after it was resumed', { reason: 'Starting', runsSince: 30, unreadySince: 60 }],
    ['crashes', { reason: 'CrashLoopBackOff' }],
    ['is on a node that was lost', { reason: 'NodeLost', unreadySince: 60 }],
  ])('gives no slot to a runtime that %s', (_what, state) => {
    for (let at = 0; at < 101; at += 1) observe(`other-${at}`, state);
    expect({ starting: limiter.starting(), admitted: admit('new', 'woken') }).toEqual({
      starting: 0,
      admitted: [true, true],
    });
  });

  it.each([
    ['is new', { reason: 'Starting' }],
    ['was resumed after it was Ready', { reason: 'Starting', unreadySince: 30, runsSince: 60 }],
  ])('counts a runtime that %s, also if another leader admitted it', (_what, state) => {
    for (const name of ['a', 'b']) observe(name, state);
    expect({ starting: limiter.starting(), admitted: admit('c') }).toEqual({ starting: 2, admitted: [false] });
  });

  it('frees the slot of a runtime that becomes Ready and loses it again', () => {
    admit('a', 'b', 'c');
    for (const name of ['a', 'b']) observe(name, { reason: 'Starting' });
    limiter.changed({ after: userSwarm('a', { reason: 'Available' }) });
    observe('a', { reason: 'Starting', unreadySince: 60 });
    expect({ woken, starting: limiter.starting() }).toEqual({ woken: ['c'], starting: 2 });
  });

  it('gives the slot of a runtime that never becomes Ready to the next one after the deadline', () => {
    admit('stuck', 'silent', 'c', 'd', 'e');
    observe('stuck', { reason: 'Starting' });
    now = SLOT_MS - 1;
    expect(admit('c')).toEqual([false]);
    now = SLOT_MS;
    expect(admit('e')).toEqual([false]);
    expect({ woken, admitted: admit('c', 'd') }).toEqual({ woken: ['c', 'd'], admitted: [true, true] });
  });

  it('gives no second slot to a runtime whose slot expired, until it starts again', () => {
    observe('stuck', { reason: 'Starting' });
    now = SLOT_MS;
    observe('stuck', { reason: 'Starting' });
    expect(limiter.starting()).toBe(0);
    observe('stuck', { reason: 'Suspended' });
    observe('stuck', { reason: 'Starting' });
    expect(limiter.starting()).toBe(1);
  });

  it('reassigns the slot of a runtime that is deleted before its admission', () => {
    admit('a', 'b', 'c', 'd');
    observe('a', { reason: 'Available' });
    limiter.changed({ before: userSwarm('c') });
    expect(woken).toEqual(['c', 'd']);
  });

  it('keeps the order of the queue when a place changes later', () => {
    admit('a', 'b');
    limiter.admit(userSwarm('resumed', { createdAt: 1 }));
    limiter.admit(userSwarm('new', { createdAt: 5 }));
    limiter.admit(userSwarm('resumed', { createdAt: 1, reason: 'Queued', runsSince: 9 }));
    for (const name of ['a', 'b']) observe(name, { reason: 'Available' });
    expect(woken).toEqual(['new', 'resumed']);
  });

  it('compares a logarithmic number of places per admission and per free slot with 20,000 waiting', () => {
    const { compare, mostComparisons } = createCountingCompare();
    create(100, compare);
    const count = 20_000;
    const running = Array.from({ length: 100 }, (_, at) => `running-${at}`);
    const waiting = Array.from({ length: count }, (_, at) => userSwarm(`w-${at}`, { createdAt: (at * 7_919) % count }));
    admit(...running);
    const ask = waiting.map((parent) => () => void limiter.admit(parent));
    const costs = {
      first: mostComparisons(ask),
      again: mostComparisons(ask),
      freed: mostComparisons(running.map((name) => () => observe(name, { reason: 'Available' }))),
      left: mostComparisons(
        waiting.map(
          ({ metadata }) =>
            () =>
              limiter.forget(metadata.name),
        ),
      ),
    };
    const bound = 2 * Math.ceil(Math.log2(count)) + 1;
    expect(costs.again).toBe(0);
    expect(Math.max(costs.first, costs.freed)).toBeLessThanOrEqual(bound);
    // A released slot is assigned immediately.
    expect(costs.left).toBeLessThanOrEqual(2 * bound);
    expect(woken).not.toEqual([]);
    expect(limiter.queued()).toBe(0);
  });
});
