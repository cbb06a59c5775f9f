import { beforeEach, describe, expect, it } from '@jest/globals';
import { ROLLOUT } from '@uswarm/contract/userswarm';
import fc from 'fast-check';
import { RolloutWorld } from '../../test/rollout-world.js';
import { planRollout, type RolloutLimits } from './plan.js';

const LIMITS: RolloutLimits = { maxConcurrent: 2, deadlineS: 3_600, maxFailures: 2 };
const NAMES = ['a', 'b', 'c', 'd', 'e'];

let world: RolloutWorld;
beforeEach(() => {
  world = new RolloutWorld();
  for (const name of NAMES) world.add(name);
});

const plan = (limits = LIMITS) => planRollout(world.parents(), limits, new Date(world.now));
const granted = (limits = LIMITS): string[] => plan(limits).grants.map(({ parent }) => parent.metadata.name);
const all = (step: (name: string) => void): void => NAMES.forEach(step);
/** Everything that can happen without anybody using the runtimes, once. */
function round(limits = LIMITS): void {
  all((name) => world.orchestrate(name));
  world.carryOut(plan(limits));
  all((name) => world.sync(name));
  world.pass(1_000);
  all((name) => world.start(name));
}
/** A new release, of which every status tells. */
function release(revision: string): void {
  world.revision = revision;
  all((name) => world.sync(name));
}

describe('a plan', () => {
  it('is nothing where nothing is pending', () => {
    expect(plan()).toMatchObject({ grants: [], unused: [], pending: 0, inFlight: 0, halted: [] });
  });

  it('gives no go-ahead to who is not idle', () => {
    release('r2');
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
    release('r2');
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
    release('r2');
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
    release('r2');
    world.orchestrate('a');
    world.carryOut(plan());
    world.pass(LIMITS.deadlineS * 1_000);
    expect(plan().grants.map(({ parent, forced }) => [parent.metadata.name, forced])).toEqual([
      ['a', true],
      ['b', true],
    ]);
  });

  it('gives none to one that is suspended: it has the new revision when it resumes', () => {
    release('r2');
    world.runtimes.get('a')!.suspend = true;
    world.pass(LIMITS.deadlineS * 1_000);
    expect(granted()).toEqual(['b', 'c']);
  });

  it('does not take somebody who resumes, or is lost, long after for one of the roll-out', () => {
    release('r2');
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
    release('r2');
    for (let rounds = 0; rounds < 12; rounds += 1) round();
    expect(plan()).toMatchObject({ halted: ['r2'], pending: 3, inFlight: 0 });
    expect(plan().failed.get('r2')).toHaveLength(2);
    expect(world.notReady()).toHaveLength(2);
    release('r3');
    for (let rounds = 0; rounds < 12; rounds += 1) round();
    expect(plan()).toMatchObject({ halted: [], pending: 0 });
    expect(world.notReady()).toEqual([]);
  });

  it('stays halted where somebody holds one of those that failed', () => {
    world.broken.add('r2');
    release('r2');
    for (let rounds = 0; rounds < 12; rounds += 1) round();
    const [failed = ''] = world.notReady();
    world.hold(failed);
    expect(plan()).toMatchObject({ halted: ['r2'], grants: [] });
    for (let rounds = 0; rounds < 12; rounds += 1) round();
    expect(plan()).toMatchObject({ halted: ['r2'], pending: 3, inFlight: 0 });
    expect(world.notReady()).toHaveLength(2);
  });

  it('does not take one for failed that got the new revision asleep', () => {
    release('r2');
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
      release('r2');
      for (let rounds = 0; rounds < 12; rounds += 1) round();
      all((name) => world.sleep(name));
      all((name) => world.sync(name));
      world.pass(1_000);
      release('r3');
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
    release('r2');
    for (const name of ['a', 'b']) {
      world.orchestrate(name);
      world.carryOut(plan());
      world.orchestrate(name);
      world.sync(name);
      world.orchestrate(name);
      world.sync(name);
    }
    release('r3');
    all((name) => world.orchestrate(name));
    expect(plan()).toMatchObject({ grants: [], inFlight: 2 });
    for (const name of ['a', 'b']) world.start(name);
    expect(granted()).toHaveLength(2);
  });

  it('does not take a go-ahead from when the platform had that revision before for one of now', () => {
    const forcing = { ...LIMITS, maxConcurrent: 5, deadlineS: 1 };
    release('r2');
    world.pass(1_000);
    world.carryOut(plan(forcing));
    all((name) => world.sync(name));
    all((name) => world.start(name));
    world.pass(1_000);
    release('r3');
    for (const name of NAMES) world.sleep(name);
    for (const step of ['sync', 'message', 'sync', 'start'] as const) all((name) => world[step](name));
    world.pass(1_000);
    release('r2');
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
    release('r2');
    all((name) => world.orchestrate(name));
    world.carryOut(plan());
    release('r3');
    expect(plan().unused.map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
    world.carryOut(plan());
    expect(plan().unused).toEqual([]);
  });

  it('does not count failures from before one that went well', () => {
    release('r2');
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

type Nothing = Record<string, never>;

/** One thing that anybody may do, at any time; what has to hold is looked at after each. */
class Act implements fc.Command<Nothing, RolloutWorld> {
  readonly #act: (real: RolloutWorld) => void;
  readonly #shown: string;

  constructor(shown: string, act: (real: RolloutWorld) => void) {
    this.#shown = shown;
    this.#act = act;
  }

  check = (): boolean => true;
  toString = (): string => this.#shown;

  run(_model: Nothing, real: RolloutWorld): void {
    const before = rolling(real);
    this.#act(real);
    const after = rolling(real);
    if (after > before && after > LIMITS.maxConcurrent) throw new Error(`${after} runtimes at once`);
    if (real.cut.length > 0) throw new Error('a turn was cut');
  }
}

/** Runtimes that are stopped because of a roll-out and may yet come up, not by their user's or their node's doing. */
const rolling = ({ runtimes, broken }: RolloutWorld): number =>
  [...runtimes.values()]
    .filter(({ ready, reason, asleep }) => !ready && reason !== 'ImagePullBackOff' && !asleep)
    // Going back heals what failed at once.
    .filter(
      ({ annotations, suspend, revision }) =>
        suspend || broken.size === 0 || annotations[ROLLOUT.revision] === revision,
    ).length;

const planned = (limits: RolloutLimits): Act =>
  new Act('plan', (real) => real.carryOut(planRollout(real.parents(), limits, new Date(real.now))));

const name = fc.constantFrom(...NAMES);
const steps = [
  fc.constant(new Act('orchestrate all', (real) => all((one) => real.orchestrate(one)))),
  fc.constant(new Act('sync all', (real) => all((one) => real.sync(one)))),
  name.map((one) => new Act(`orchestrate ${one}`, (real) => real.orchestrate(one))),
  name.map((one) => new Act(`sync ${one}`, (real) => real.sync(one))),
  name.map((one) => new Act(`start ${one}`, (real) => real.start(one))),
  name.map((one) => new Act(`message ${one}`, (real) => real.message(one))),
  name.map((one) => new Act(`answered ${one}`, (real) => real.answered(one))),
  fc.constant(new Act('a second', (real) => real.pass(1_000))),
  fc.constant(planned(LIMITS)),
];
/** Some wait too long, some sleep, and the platform goes back and forth. */
const unsteady = [
  ...steps,
  fc.constant(planned({ ...LIMITS, deadlineS: 10 })),
  fc.constant(new Act('ten seconds', (real) => real.pass(10_000))),
  name.map((one) => new Act(`sleep ${one}`, (real) => real.sleep(one))),
  fc.constantFrom('r1', 'r2', 'r3').map(
    (one) =>
      new Act(`release ${one}`, (real) => {
        // What was before is told from what comes after by whole seconds.
        real.pass(1_000);
        real.revision = one;
      }),
  ),
];

describe('whatever comes when', () => {
  it('never more than may are on their way, no turn is cut, and in the end all have the new revision', () => {
    fc.assert(
      fc.property(fc.commands(steps, { maxCommands: 120, size: 'max' }), (commands) => {
        world = new RolloutWorld();
        for (const each of NAMES) world.add(each);
        release('r2');
        fc.modelRun(() => ({ model: {}, real: world }), commands);
        all((each) => world.answered(each));
        for (let rounds = 0; rounds < 20; rounds += 1) round();
        expect([...world.runtimes.values()].map(({ revision, ready }) => [revision, ready])).toEqual(
          NAMES.map(() => ['r2', true]),
        );
        expect(plan()).toMatchObject({ grants: [], unused: [], pending: 0, inFlight: 0 });
      }),
      { numRuns: 300 },
    );
  });

  it('so also where the platform comes back to a revision that it had, some wait too long and some sleep', () => {
    fc.assert(
      fc.property(fc.commands(unsteady, { maxCommands: 200, size: 'max' }), (commands) => {
        world = new RolloutWorld();
        for (const each of NAMES) world.add(each);
        fc.modelRun(() => ({ model: {}, real: world }), commands);
        all((each) => world.answered(each));
        release('r4');
        for (let rounds = 0; rounds < 20; rounds += 1) round();
        const awake = [...world.runtimes.values()].filter(({ suspend }) => !suspend);
        expect(awake.filter(({ revision, ready }) => revision !== 'r4' || !ready)).toEqual([]);
        expect(plan()).toMatchObject({ grants: [], unused: [], pending: 0, inFlight: 0 });
      }),
      { numRuns: 300 },
    );
  });

  it('a broken revision stops no more than may be on their way and may fail, and going back heals them', () => {
    fc.assert(
      fc.property(fc.commands(steps, { maxCommands: 120, size: 'max' }), (commands) => {
        world = new RolloutWorld();
        for (const each of NAMES) world.add(each);
        world.broken.add('r2');
        release('r2');
        fc.modelRun(() => ({ model: {}, real: world }), commands);
        for (let rounds = 0; rounds < 20; rounds += 1) round();
        const failed = [...world.runtimes.values()].filter(({ reason }) => reason === 'ImagePullBackOff');
        expect(failed.length).toBeLessThanOrEqual(LIMITS.maxFailures + LIMITS.maxConcurrent - 1);
        all((each) => world.answered(each));
        release('r1');
        for (let rounds = 0; rounds < 20; rounds += 1) round();
        expect([...world.runtimes.values()].map(({ revision, ready }) => [revision, ready])).toEqual(
          NAMES.map(() => ['r1', true]),
        );
      }),
      { numRuns: 300 },
    );
  });
});
