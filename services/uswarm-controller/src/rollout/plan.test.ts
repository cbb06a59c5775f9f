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

describe('a plan', () => {
  it('is nothing where nothing is pending', () => {
    expect(plan()).toMatchObject({ grants: [], unused: [], pending: 0, inFlight: 0, halted: [] });
  });

  it('gives no go-ahead to who is not idle', () => {
    world.release('r2');
    expect(plan()).toMatchObject({ grants: [], pending: 5 });
    world.orchestrate('c');
    expect(granted()).toEqual(['c']);
  });

  it('gives as many as may be on their way at once, those that waited longest first', () => {
    world.revision = 'r2';
    for (const name of ['d', 'b', 'a', 'c', 'e']) {
      world.sync(name);
      world.pass(1_000);
    }
    all((name) => world.orchestrate(name));
    expect(granted()).toEqual(['d', 'b']);
    world.carryOut(plan());
    expect(granted()).toEqual([]);
    expect(plan().inFlight).toBe(2);
  });

  it('counts one until it is Ready with the new revision, however it gets there', () => {
    world.release('r2');
    world.orchestrate('a');
    world.carryOut(plan());
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

  it('takes a go-ahead back that is not used, for another to have it', () => {
    world.release('r2');
    const one = { ...LIMITS, maxConcurrent: 1 };
    for (const name of ['a', 'b']) world.orchestrate(name);
    world.carryOut(plan(one));
    world.message('a');
    world.orchestrate('a');
    const { unused, grants, inFlight } = plan(one);
    expect([unused.map(({ metadata }) => metadata.name), grants.length, inFlight]).toEqual([['a'], 1, 1]);
    expect(grants[0]?.parent.metadata.name).toBe('b');
  });

  it('forces one that waited too long, also where it has a go-ahead that its orchestrator does not use', () => {
    world.release('r2');
    world.orchestrate('a');
    world.carryOut(plan());
    world.pass(LIMITS.deadlineS * 1_000);
    expect(plan().grants.map(({ parent, forced }) => [parent.metadata.name, forced])).toEqual([
      ['a', true],
      ['b', true],
    ]);
  });

  it('gives none to one that is suspended: it has the new revision when it resumes', () => {
    world.release('r2');
    world.runtimes.get('a')!.suspend = true;
    world.pass(LIMITS.deadlineS * 1_000);
    expect(granted()).toEqual(['b', 'c']);
  });

  it('does not take somebody who resumes, or is lost, long after for one of the roll-out', () => {
    world.release('r2');
    for (let rounds = 0; rounds < 12; rounds += 1) round();
    expect(plan()).toMatchObject({ pending: 0, inFlight: 0 });
    world.pass(60_000);
    world.lose('a');
    expect(plan()).toMatchObject({ inFlight: 0 });
    const lost = world.runtimes.get('b')!;
    Object.assign(lost, { ready: false, reason: 'CrashLoopBackOff', readySince: world.now });
    expect(plan().failed.size).toBe(0);
  });

  it('halts a revision after so many failures in a row, and another one begins anew', () => {
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

  it('stays halted where somebody holds one of those that failed', () => {
    world.broken.add('r2');
    world.release('r2');
    for (let rounds = 0; rounds < 12; rounds += 1) round();
    const [failed = ''] = world.notReady();
    world.hold(failed);
    expect(plan()).toMatchObject({ halted: ['r2'], grants: [] });
    for (let rounds = 0; rounds < 12; rounds += 1) round();
    expect(plan()).toMatchObject({ halted: ['r2'], pending: 3, inFlight: 0 });
    expect(world.notReady()).toHaveLength(2);
  });

  it('does not take one for failed that got the new revision asleep', () => {
    world.release('r2');
    world.orchestrate('a');
    world.carryOut(plan());
    world.pass(1_000);
    world.sleep('a');
    for (let times = 0; times < 2; times += 1) {
      world.sync('a');
      world.pass(1_000);
    }
    expect([world.runtimes.get('a')?.revision, plan().failed.size]).toEqual(['r2', 0]);
  });

  describe('where all slept while the next revision came', () => {
    beforeEach(() => {
      world.release('r2');
      for (let rounds = 0; rounds < 12; rounds += 1) round();
      all((name) => world.sleep(name));
      all((name) => world.sync(name));
      world.pass(1_000);
      world.release('r3');
      world.pass(1_000);
    });
    const wake = (): void => {
      all((name) => world.message(name));
      all((name) => world.sync(name));
    };

    it('takes their go-aheads back, once, and none of them for one on its way', () => {
      expect(plan().unused).toHaveLength(5);
      world.carryOut(plan());
      expect(plan()).toMatchObject({ unused: [], inFlight: 0 });
      wake();
      expect(plan()).toMatchObject({ unused: [], inFlight: 0 });
    });

    it('takes none that does not come up then for a failure of the revision before', () => {
      wake();
      for (const runtime of world.runtimes.values()) runtime.reason = 'Unschedulable';
      expect(plan()).toMatchObject({ halted: [], inFlight: 0, failed: new Map() });
    });
  });

  it('counts one that is on its way when the next revision comes', () => {
    world.release('r2');
    for (const name of ['a', 'b']) {
      world.orchestrate(name);
      world.carryOut(plan());
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

  it('does not take a go-ahead from when the platform had that revision before for one of now', () => {
    const forcing = { ...LIMITS, maxConcurrent: 5, deadlineS: 1 };
    world.release('r2');
    world.pass(1_000);
    world.carryOut(plan(forcing));
    all((name) => world.sync(name));
    all((name) => world.start(name));
    world.pass(1_000);
    world.release('r3');
    for (const name of NAMES) world.sleep(name);
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
    world.carryOut(plan());
    expect(plan()).toMatchObject({ grants: [], inFlight: 2 });
  });

  it('takes a go-ahead back for a revision that the platform left before it was used', () => {
    world.release('r2');
    all((name) => world.orchestrate(name));
    world.carryOut(plan());
    world.release('r3');
    expect(plan().unused.map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
    world.carryOut(plan());
    expect(plan().unused).toEqual([]);
  });

  it('does not count failures from before one that went well', () => {
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
