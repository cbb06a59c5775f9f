import { describe, expect, it } from '@jest/globals';
import { ROLLOUT } from '@uswarm/contract/userswarm';
import fc from 'fast-check';
import { RolloutSimulation } from '../../test/rollout-simulation.js';
import { planRollout, type RolloutLimits, type RolloutPlan } from './plan.js';

const LIMITS: RolloutLimits = { maxConcurrent: 2, deadlineS: 3_600, maxFailures: 2 };
const NAMES = ['a', 'b', 'c', 'd', 'e'];

const planOf = (world: RolloutSimulation, limits = LIMITS): RolloutPlan =>
  planRollout(world.parents(), limits, new Date(world.now));
/** Nobody uses them for long enough. */
function settle(world: RolloutSimulation): void {
  for (let rounds = 0; rounds < 20; rounds += 1) world.round(() => planOf(world));
}

type Nothing = Record<string, never>;

/** One thing that anybody may do, at any time; what has to hold is looked at after each. */
class Act implements fc.Command<Nothing, RolloutSimulation> {
  readonly #act: (real: RolloutSimulation) => void;
  readonly #shown: string;

  constructor(shown: string, act: (real: RolloutSimulation) => void) {
    this.#shown = shown;
    this.#act = act;
  }

  check = (): boolean => true;
  toString = (): string => this.#shown;

  run(_model: Nothing, real: RolloutSimulation): void {
    const before = rolling(real);
    this.#act(real);
    const after = rolling(real);
    if (after > before && after > LIMITS.maxConcurrent) throw new Error(`${after} runtimes at once`);
    if (real.cut.length > 0) throw new Error('a turn was cut');
  }
}

/** Runtimes that are stopped because of a rollout and may yet come up, not by their user's or their node's doing. */
const rolling = ({ runtimes, broken }: RolloutSimulation): number =>
  [...runtimes.values()]
    .filter(({ ready, reason, asleep }) => !ready && reason !== 'ImagePullBackOff' && !asleep)
    // Going back heals what failed at once.
    .filter(
      ({ annotations, suspend, revision }) =>
        suspend || broken.size === 0 || annotations[ROLLOUT.revision] === revision,
    ).length;

const planned = (limits: RolloutLimits): Act => new Act('plan', (real) => real.carryOut(planOf(real, limits)));

const name = fc.constantFrom(...NAMES);
const steps = [
  fc.constant(new Act('orchestrate all', (real) => NAMES.forEach((one) => real.orchestrate(one)))),
  fc.constant(new Act('sync all', (real) => NAMES.forEach((one) => real.sync(one)))),
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

describe('the rollout in a simulation', () => {
  it('never exceeds maxConcurrent, cuts no turn, and converges to the new revision', () => {
    fc.assert(
      fc.property(fc.commands(steps, { maxCommands: 120, size: 'max' }), (commands) => {
        const world = new RolloutSimulation(NAMES);
        world.release('r2');
        fc.modelRun(() => ({ model: {}, real: world }), commands);
        for (const each of NAMES) world.answered(each);
        settle(world);
        expect([...world.runtimes.values()].map(({ revision, ready }) => [revision, ready])).toEqual(
          NAMES.map(() => ['r2', true]),
        );
        expect(planOf(world)).toMatchObject({ grants: [], unused: [], pending: 0, inFlight: 0 });
      }),
      { numRuns: 300 },
    );
  });

  it('converges when the platform returns to an earlier revision, some wait too long and some are suspended', () => {
    fc.assert(
      fc.property(fc.commands(unsteady, { maxCommands: 200, size: 'max' }), (commands) => {
        const world = new RolloutSimulation(NAMES);
        fc.modelRun(() => ({ model: {}, real: world }), commands);
        for (const each of NAMES) world.answered(each);
        world.release('r4');
        settle(world);
        const awake = [...world.runtimes.values()].filter(({ suspend }) => !suspend);
        expect(awake.filter(({ revision, ready }) => revision !== 'r4' || !ready)).toEqual([]);
        expect(planOf(world)).toMatchObject({ grants: [], unused: [], pending: 0, inFlight: 0 });
      }),
      { numRuns: 300 },
    );
  });

  it('limits the failures of a broken revision, and a rollback repairs them', () => {
    fc.assert(
      fc.property(fc.commands(steps, { maxCommands: 120, size: 'max' }), (commands) => {
        const world = new RolloutSimulation(NAMES);
        world.broken.add('r2');
        world.release('r2');
        fc.modelRun(() => ({ model: {}, real: world }), commands);
        settle(world);
        const failed = [...world.runtimes.values()].filter(({ reason }) => reason === 'ImagePullBackOff');
        expect(failed.length).toBeLessThanOrEqual(LIMITS.maxFailures + LIMITS.maxConcurrent - 1);
        for (const each of NAMES) world.answered(each);
        world.release('r1');
        settle(world);
        expect([...world.runtimes.values()].map(({ revision, ready }) => [revision, ready])).toEqual(
          NAMES.map(() => ['r1', true]),
        );
      }),
      { numRuns: 300 },
    );
  });
});
