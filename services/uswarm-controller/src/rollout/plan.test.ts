import { beforeEach, describe, expect, it } from '@jest/globals';
import { ROLLOUT } from '@uswarm/contract/userswarm';
import { RolloutSimulation } from '../../test/rollout-simulation.js';
import { planRollout, type RolloutLimits } from './plan.js';

const LIMITS: RolloutLimits = { maxConcurrent: 2, deadlineS: 3_600, maxFailures: 2 };
const NAMES = ['a', 'b', 'c', 'd', 'e'];

let world: RolloutSimulation;
beforeEach(() => {
  world = new RolloutSimulation(NAMES);
});

const plan = (limits = LIMITS) => planRollout(world.parents(), limits, new Date(world.now));
const granted = (limits = LIMITS): string[] => plan(limits).grants.map(({ parent }) => parent.metadata.name);
const all = (step: (name: string) => void): void => NAMES.forEach(step);
const round = (limits = LIMITS): void => world.round(() => plan(limits));

describe('the rollout plan', () => {
  it('is empty when nothing is pending', () => {
    expect(plan()).toMatchObject({ grants: [], unused: [], pending: 0, inFlight: 0, halted: [] });
  });

  it('gives no grant to a busy runtime', () => {
    world.release('r2');
    expect(plan()).toMatchObject({ grants: [], pending: 5 });
    world.orchestrate('c');
    expect(granted()).toEqual(['c']);
  });

  it('grants up to maxConcurrent runtimes, the longest waiting first', () => {
    world.revision = 'r2';
    for (const name of ['d', 'b', 'a', 'c', 'e']) {
      world.sync(name);
      world.pass(1_000);
    }
    all((name) => world.orchestrate(name));
    expect(granted()).toEqual(['d', 'b']);
    world.apply(plan());
    expect(granted()).toEqual([]);
    expect(plan().inFlight).toBe(2);
  });

  it('counts a runtime as in flight until it is Ready with the new revision', () => {
    world.release('r2');
    world.orchestrate('a');
    world.apply(plan());
    const seen: number[] = [];
    const steps = [
      () => world.orchestrate('a'),
      () => world.sync('a'),
      () => world.orchestrate('a'),
      () => world.sync('a'),
    ];
    for (const step of steps) {
      step();
      seen.push(plan().inFlight);
    }
    expect(seen).toEqual([1, 1, 1, 1]);
    world.pass(1_000);
    world.start('a');
    expect(plan()).toMatchObject({ inFlight: 0, pending: 4 });
  });

  it('revokes an unused grant in favour of another runtime', () => {
    world.release('r2');
    const one = { ...LIMITS, maxConcurrent: 1 };
    for (const name of ['a', 'b']) world.orchestrate(name);
    world.apply(plan(one));
    world.message('a');
    world.orchestrate('a');
    const { unused, grants, inFlight } = plan(one);
    expect({ unused: unused.map(({ metadata }) => metadata.name), grantsCount: grants.length, inFlight }).toEqual({
      unused: ['a'],
      grantsCount: 1,
      inFlight: 1,
    });
    expect(grants[0]?.parent.metadata.name).toBe('b');
  });

  it('forces a runtime after the deadline, also if its orchestrator does not use its grant', () => {
    world.release('r2');
    world.orchestrate('a');
    world.apply(plan());
    world.pass(LIMITS.deadlineS * 1_000);
    expect(plan().grants.map(({ parent, forced }) => [parent.metadata.name, forced])).toEqual([
      ['a', true],
      ['b', true],
    ]);
  });

  it('never replaces a busy runtime without a deadline, and still grants idle ones', () => {
    const noDeadline = { ...LIMITS, deadlineS: 0 };
    world.release('r2');
    world.pass(365 * 86_400_000);
    expect(granted(noDeadline)).toEqual([]);
    world.orchestrate('c');
    expect(plan(noDeadline).grants).toMatchObject([{ forced: false, reason: 'idle' }]);
  });

  it('forces runtimes that began to wait before a given time, and none of a later rollout', () => {
    const forcedBefore = new Date(world.now + 60_000);
    const forcing = { ...LIMITS, deadlineS: 0, forcedBefore };
    world.release('r2');
    expect(plan(forcing).grants).toMatchObject([
      { forced: true, reason: 'forced' },
      { forced: true, reason: 'forced' },
    ]);
    world.pass(60_000);
    const later = new RolloutSimulation(NAMES);
    later.now = world.now;
    later.release('r3');
    expect(planRollout(later.parents(), forcing, new Date(later.now)).grants).toEqual([]);
  });

  it('gives no grant to a suspended runtime, which gets the new revision on resume', () => {
    world.release('r2');
    world.runtimes.get('a')!.suspend = true;
    world.pass(LIMITS.deadlineS * 1_000);
    expect(granted()).toEqual(['b', 'c']);
  });

  it('does not count a runtime that resumes or loses its pod later as in flight', () => {
    world.release('r2');
    for (let rounds = 0; rounds < 12; rounds += 1) round();
    expect(plan()).toMatchObject({ pending: 0, inFlight: 0 });
    world.pass(60_000);
    world.loseNode('a');
    expect(plan()).toMatchObject({ inFlight: 0 });
    const lost = world.runtimes.get('b')!;
    Object.assign(lost, { ready: false, reason: 'CrashLoopBackOff', readySince: world.now });
    expect(plan().failed.size).toBe(0);
  });

  it('halts a revision after maxFailures consecutive failures, and starts over for another one', () => {
    world.broken.add('r2');
    world.release('r2');
    for (let rounds = 0; rounds < 12; rounds += 1) round();
    expect(plan()).toMatchObject({ halted: ['r2'], pending: 3, inFlight: 0 });
    expect(plan().failed.get('r2')).toHaveLength(2);
    expect(world.notReady()).toHaveLength(2);
    world.release('r3');
    for (let rounds = 0; rounds < 12; rounds += 1) round();
    expect(plan()).toMatchObject({ halted: [], pending: 0 });
    expect(world.notReady()).toEqual([]);
  });

  it('stays halted when an operator suspends a failed runtime', () => {
    world.broken.add('r2');
    world.release('r2');
    for (let rounds = 0; rounds < 12; rounds += 1) round();
    const [failed = ''] = world.notReady();
    world.suspendByOperator(failed);
    expect(plan()).toMatchObject({ halted: ['r2'], grants: [] });
    for (let rounds = 0; rounds < 12; rounds += 1) round();
    expect(plan()).toMatchObject({ halted: ['r2'], pending: 3, inFlight: 0 });
    expect(world.notReady()).toHaveLength(2);
  });

  it('does not count a runtime that got the new revision while suspended as failed', () => {
    world.release('r2');
    world.orchestrate('a');
    world.apply(plan());
    world.pass(1_000);
    world.suspendIdle('a');
    for (let times = 0; times < 2; times += 1) {
      world.sync('a');
      world.pass(1_000);
    }
    expect({ revision: world.runtimes.get('a')?.revision, failed: plan().failed.size }).toEqual({
      revision: 'r2',
      failed: 0,
    });
  });

  describe('the rollout plan when all runtimes were suspended during the next revision', () => {
    beforeEach(() => {
      world.release('r2');
      for (let rounds = 0; rounds < 12; rounds += 1) round();
      all((name) => world.suspendIdle(name));
      all((name) => world.sync(name));
      world.pass(1_000);
      world.release('r3');
      world.pass(1_000);
    });
    const wake = (): void => {
      all((name) => world.message(name));
      all((name) => world.sync(name));
    };

    it('revokes their grants once and counts none as in flight', () => {
      expect(plan().unused).toHaveLength(5);
      world.apply(plan());
      expect(plan()).toMatchObject({ unused: [], inFlight: 0 });
      wake();
      expect(plan()).toMatchObject({ unused: [], inFlight: 0 });
    });

    it('does not count a later failed start for the previous revision', () => {
      wake();
      for (const runtime of world.runtimes.values()) runtime.reason = 'Unschedulable';
      expect(plan()).toMatchObject({ halted: [], inFlight: 0, failed: new Map() });
    });
  });

  it('counts a runtime that is in flight when the next revision arrives', () => {
    world.release('r2');
    for (const name of ['a', 'b']) {
      world.orchestrate(name);
      world.apply(plan());
      world.orchestrate(name);
      world.sync(name);
      world.orchestrate(name);
      world.sync(name);
    }
    world.release('r3');
    all((name) => world.orchestrate(name));
    expect(plan()).toMatchObject({ grants: [], inFlight: 2 });
    for (const name of ['a', 'b']) world.start(name);
    expect(granted()).toHaveLength(2);
  });

  it('ignores a grant from an earlier rollout of the same revision', () => {
    const forcing = { ...LIMITS, maxConcurrent: 5, deadlineS: 1 };
    world.release('r2');
    world.pass(1_000);
    world.apply(plan(forcing));
    all((name) => world.sync(name));
    all((name) => world.start(name));
    world.pass(1_000);
    world.release('r3');
    for (const name of NAMES) world.suspendIdle(name);
    for (const step of ['sync', 'message', 'sync', 'start'] as const) all((name) => world[step](name));
    world.pass(1_000);
    world.release('r2');
    all((name) => world.sync(name));
    expect(world.notReady()).toEqual([]);
    expect(plan()).toMatchObject({ grants: [], pending: 5, inFlight: 0 });
    all((name) => world.orchestrate(name));
    all((name) => world.orchestrate(name));
    expect(world.notReady()).toEqual([]);
    expect(granted()).toEqual(['a', 'b']);
    world.apply(plan());
    expect(plan()).toMatchObject({ grants: [], inFlight: 2 });
  });

  it('revokes an unused grant for an abandoned revision', () => {
    world.release('r2');
    all((name) => world.orchestrate(name));
    world.apply(plan());
    world.release('r3');
    expect(plan().unused.map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
    world.apply(plan());
    expect(plan().unused).toEqual([]);
  });

  it('does not count failures before a success', () => {
    world.release('r2');
    const outcomes = { a: 'failed', b: 'good', c: 'failed', d: 'good', e: 'good' };
    for (const [name, outcome] of Object.entries(outcomes)) {
      const runtime = world.runtimes.get(name)!;
      runtime.annotations[ROLLOUT.revision] = 'r2';
      runtime.annotations[ROLLOUT.time] = new Date(world.now).toISOString();
      Object.assign(runtime, { revision: 'r2', pending: undefined, pendingSince: undefined, upToDateSince: world.now });
      if (outcome === 'failed') Object.assign(runtime, { ready: false, reason: 'OOMKilled', readySince: world.now });
      world.pass(1_000);
    }
    expect(plan().halted).toEqual([]);
    Object.assign(world.runtimes.get('d')!, { ready: false, reason: 'OOMKilled' });
    Object.assign(world.runtimes.get('e')!, { ready: false, reason: 'OOMKilled' });
    for (const name of ['d', 'e']) world.runtimes.get(name)!.readySince = world.runtimes.get(name)!.upToDateSince;
    expect(plan().halted).toEqual(['r2']);
  });
});
