import assert from 'node:assert/strict';
import { describe, expect, it } from '@jest/globals';
import type { KubernetesObject } from '@uswarm/kube-client';
import fc from 'fast-check';
import { createStartLimiter, type StartLimiter } from './start-limiter.js';

const MAX = 2;
const SLOT_MS = 1_000;
const NAMES = [...'abcdef'];

const userSwarm = (name: string, ready?: { reason: string; lost: boolean }, suspend = false): KubernetesObject => ({
  apiVersion: 'uswarm.dev/v1alpha1',
  kind: 'UserSwarm',
  metadata: { name, uid: name, creationTimestamp: `2030-01-01T00:00:0${NAMES.indexOf(name)}Z` },
  spec: { suspend },
  status:
    ready === undefined
      ? {}
      : {
          conditions: [
            {
              type: 'Ready',
              status: ready.reason === 'Available' ? 'True' : 'False',
              reason: ready.reason,
              lastTransitionTime: ready.lost ? '2030-01-03T00:00:00Z' : '2030-01-02T00:00:00Z',
            },
            { type: 'Suspended', status: 'False', lastTransitionTime: '2030-01-02T00:00:00Z' },
          ],
        },
});

interface Holder {
  since: number;
  admitted: boolean;
  shown: boolean;
}

/** A reference implementation with plain lists. */
class Model {
  now = 0;
  holders: Record<string, Holder> = {};
  waiting: string[] = [];
  overdue: string[] = [];
  woken: string[] = [];

  private drop(name: string): void {
    delete this.holders[name];
  }
  private settle(): void {
    for (const [name, { since, shown }] of Object.entries(this.holders)) {
      if (this.now - since < SLOT_MS) continue;
      this.drop(name);
      if (shown) this.overdue.push(name);
    }
    this.handOver();
  }
  private handOver(): void {
    while (Object.keys(this.holders).length < MAX && this.waiting.length > 0) {
      // Queue order equals name order.
      const [first = ''] = this.waiting.toSorted();
      this.leaveQueue(first);
      this.overdue = this.overdue.filter((other) => other !== first);
      this.holders[first] = { since: this.now, admitted: true, shown: false };
      this.woken.push(first);
    }
  }
  private leaveQueue(name: string): void {
    this.waiting = this.waiting.filter((other) => other !== name);
  }
  admit(name: string): boolean {
    this.settle();
    if (this.holders[name] !== undefined) return true;
    this.leaveQueue(name);
    if (Object.keys(this.holders).length >= MAX) this.waiting.push(name);
    else {
      this.overdue = this.overdue.filter((other) => other !== name);
      this.holders[name] = { since: this.now, admitted: true, shown: false };
    }
    return this.holders[name] !== undefined;
  }
  forget(name: string): void {
    this.leaveQueue(name);
    const held = this.holders[name] !== undefined;
    this.drop(name);
    if (held) this.handOver();
  }
  show(name: string, reason: string, lost: boolean): void {
    const holder = this.holders[name];
    if (reason !== 'Starting') this.overdue = this.overdue.filter((other) => other !== name);
    if (reason === 'Starting') {
      this.leaveQueue(name);
      if (holder !== undefined) holder.shown = true;
      else if (!lost && !this.overdue.includes(name)) {
        this.holders[name] = { since: this.now, admitted: false, shown: true };
      }
    } else if (reason === 'Queued' || reason === 'Suspended') {
      if (holder?.shown === true && !holder.admitted) this.drop(name);
      else if (holder !== undefined) holder.shown = false;
    } else this.drop(name);
    this.settle();
  }
  stop(name: string): void {
    this.overdue = this.overdue.filter((other) => other !== name);
    this.leaveQueue(name);
    this.drop(name);
    this.settle();
  }
  becomeLeader(): void {
    this.waiting = [];
    for (const [name, holder] of Object.entries(this.holders)) {
      holder.admitted = false;
      if (!holder.shown) this.drop(name);
    }
  }
}

interface Real {
  limiter: StartLimiter;
  woken: string[];
  clock: { now: number };
}
type Command = fc.Command<Model, Real>;

function command(text: string, act: (model: Model, real: Real) => void): Command {
  return {
    check: () => true,
    run(model, real) {
      act(model, real);
      const { limiter, woken } = real;
      assert.deepEqual(
        { starting: limiter.starting(), queued: limiter.queued(), woken },
        { starting: Object.keys(model.holders).length, queued: model.waiting.length, woken: model.woken },
      );
      assert(limiter.queued() === 0 || limiter.starting() >= MAX, 'a slot is free while a runtime is queued');
    },
    toString: () => text,
  };
}

const name = fc.constantFrom(...NAMES);
const commands = [
  name.map((one) =>
    command(`admit ${one}`, (model, { limiter }) => {
      const before = limiter.starting();
      assert.equal(limiter.admit(userSwarm(one)), model.admit(one));
      assert(limiter.starting() <= Math.max(MAX, before), 'more runtimes start than the limit allows');
    }),
  ),
  fc
    .record({
      one: name,
      reason: fc.constantFrom('Starting', 'Available', 'OOMKilled', 'Queued', 'Suspended'),
      lost: fc.boolean(),
    })
    .map(({ one, reason, lost }) =>
      command(`${one} shows ${reason}${lost ? ' after it was Ready' : ''}`, (model, { limiter }) => {
        limiter.changed({ after: userSwarm(one, { reason, lost }) });
        model.show(one, reason, lost);
      }),
    ),
  name.map((one) =>
    command(`suspend ${one}`, (model, { limiter }) => {
      limiter.changed({ after: userSwarm(one, undefined, true) });
      model.stop(one);
    }),
  ),
  name.map((one) =>
    command(`delete ${one}`, (model, { limiter }) => {
      limiter.changed({ before: userSwarm(one) });
      model.stop(one);
    }),
  ),
  name.map((one) =>
    command(`forget ${one}`, (model, { limiter }) => {
      limiter.forget(one);
      model.forget(one);
    }),
  ),
  fc.constantFrom(1, SLOT_MS / 2, SLOT_MS).map((ms) =>
    command(`pass ${ms} ms`, (model, { clock }) => {
      clock.now += ms;
      model.now += ms;
    }),
  ),
  fc.constant(
    command('become leader', (model, { limiter }) => {
      limiter.reset();
      model.becomeLeader();
    }),
  ),
];

const createReal = (): Real => {
  const woken: string[] = [];
  const clock = { now: 0 };
  const limiter = createStartLimiter({
    maxConcurrent: MAX,
    wake: (key) => void woken.push(key),
    elapsed: () => clock.now,
    slotMs: SLOT_MS,
  });
  return { limiter, woken, clock };
};

describe('the start limiter, against a model', () => {
  it('admits and enqueues like plain lists, for any sequence of operations', () => {
    const run = fc.property(fc.commands(commands, { maxCommands: 60 }), (script) => {
      fc.modelRun(() => ({ model: new Model(), real: createReal() }), script);
    });
    expect(() => fc.assert(run)).not.toThrow();
  });

  it('eventually starts all queued runtimes, even if none becomes Ready', () => {
    fc.assert(
      fc.property(fc.commands(commands, { maxCommands: 40 }), (script) => {
        const real = createReal();
        fc.modelRun(() => ({ model: new Model(), real }), script);
        for (let rounds = 0; rounds < NAMES.length; rounds += 1) {
          real.clock.now += SLOT_MS;
          for (const one of real.woken.splice(0)) real.limiter.admit(userSwarm(one));
          real.limiter.changed({ after: userSwarm('another', { reason: 'Available', lost: false }) });
        }
        expect(real.limiter.queued()).toBe(0);
      }),
    );
  });
});
