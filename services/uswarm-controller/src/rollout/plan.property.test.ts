import { describe, expect, it } from '@jest/globals';
import { ROLLOUT } from '@uswarm/contract/userswarm';
import fc from 'fast-check';
import { RolloutSimulation } from '../../test/rollout-simulation.js';
import { planRollout, type RolloutLimits, type RolloutPlan } from './plan.js';

const LIMITS: RolloutLimits = { maxConcurrent: 2, deadlineS: 3_600, maxFailures: 2 };
const NAMES = ['a', 'b', 'c', 'd', 'e'];

const planOf = (world: RolloutSimulation, limits = LIMITS): RolloutPlan =>
  planRollout(world.parents(), limits, new Date(world.now));
/** Runs enough rounds without any use of the runtimes. */
function settle(world: RolloutSimulation): void {
  for (let rounds = 0; rounds < 20; rounds += 1) world.round(() => planOf(world));
}

type Nothing = Record<string, never>;

/** One simulation step. The invariants are checked after each step. */
class Step implements fc.Command<Nothing, RolloutSimulation> {
  readonly #apply: (real: RolloutSimulation) => void;
  readonly #text: string;

  constructor(text: string, apply: (real: RolloutSimulation) => void) {
    this.#text = text;
    this.#apply = apply;
  }

  check = (): boolean => true;
  toString = (): string => this.#text;

  run(_model: Nothing, real: RolloutSimulation): void {
    const before = rolling(real);
    this.#apply(real);
    const after = rolling(real);
    if (after > before && after > LIMITS.maxConcurrent) throw new Error(`${after} runtimes roll out concurrently`);
    if (real.interrupted.length > 0) throw new Error('a turn was interrupted');
  }
}

/** Number of runtimes that are not Ready because of a rollout and may still become Ready. */
const rolling = ({ runtimes, broken }: RolloutSimulation): number =>
  [...runtimes.values()]
    .filter(({ ready, reason, idleSuspended }) => !ready && reason !== 'ImagePullBackOff' && !idleSuspended)
    // A rollback repairs failed runtimes without a grant.
    .filter(
      ({ annotations, suspend, revision }) =>
        suspend || broken.size === 0 || annotations[ROLLOUT.revision] === revision,
    ).length;

const planned = (limits: RolloutLimits): Step => new Step('plan', (real) => real.apply(planOf(real, limits)));

const name = fc.constantFrom(...NAMES);
const steps = [
  fc.constant(new Step('orchestrate all', (real) => NAMES.forEach((one) => real.orchestrate(one)))),
  fc.constant(new Step('sync all', (real) => NAMES.forEach((one) => real.sync(one)))),
  name.map((one) => new Step(`orchestrate ${one}`, (real) => real.orchestrate(one))),
  name.map((one) => new Step(`sync ${one}`, (real) => real.sync(one))),
  name.map((one) => new Step(`start ${one}`, (real) => real.start(one))),
  name.map((one) => new Step(`message ${one}`, (real) => real.message(one))),
  name.map((one) => new Step(`finish turn of ${one}`, (real) => real.finishTurn(one))),
  fc.constant(new Step('pass a second', (real) => real.pass(1_000))),
  fc.constant(planned(LIMITS)),
];
/** Adds missed deadlines, suspensions and revision changes in both directions. */
const disruptiveSteps = [
  ...steps,
  fc.constant(planned({ ...LIMITS, deadlineS: 10 })),
  fc.constant(new Step('pass ten seconds', (real) => real.pass(10_000))),
  name.map((one) => new Step(`suspend idle ${one}`, (real) => real.suspendIdle(one))),
  fc.constantFrom('r1', 'r2', 'r3').map(
    (one) =>
      new Step(`release ${one}`, (real) => {
        // Timestamps have whole seconds, so a release must not share its second with an earlier event.
        real.pass(1_000);
        real.revision = one;
      }),
  ),
];

describe('the rollout in a simulation', () => {
  it('never exceeds maxConcurrent, interrupts no turn, and converges to the new revision', () => {
    fc.assert(
      fc.property(fc.commands(steps, { maxCommands: 120, size: 'max' }), (commands) => {
        const world = new RolloutSimulation(NAMES);
        world.release('r2');
        fc.modelRun(() => ({ model: {}, real: world }), commands);
        for (const each of NAMES) world.finishTurn(each);
        settle(world);
        expect([...world.runtimes.values()].map(({ revision, ready }) => ({ revision, ready }))).toEqual(
          NAMES.map(() => ({ revision: 'r2', ready: true })),
        );
        expect(planOf(world)).toMatchObject({ grants: [], unused: [], pending: 0, inFlight: 0 });
      }),
      { numRuns: 300 },
    );
  });

  it('converges when the platform returns to an earlier revision, some wait too long and some are suspended', () => {
    fc.assert(
      fc.property(fc.commands(disruptiveSteps, { maxCommands: 200, size: 'max' }), (commands) => {
        const world = new RolloutSimulation(NAMES);
        fc.modelRun(() => ({ model: {}, real: world }), commands);
        for (const each of NAMES) world.finishTurn(each);
        world.release('r4');
        settle(world);
        const running = [...world.runtimes.values()].filter(({ suspend }) => !suspend);
        expect(running.filter(({ revision, ready }) => revision !== 'r4' || !ready)).toEqual([]);
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
        for (const each of NAMES) world.finishTurn(each);
        world.release('r1');
        settle(world);
        expect([...world.runtimes.values()].map(({ revision, ready }) => ({ revision, ready }))).toEqual(
          NAMES.map(() => ({ revision: 'r1', ready: true })),
        );
      }),
      { numRuns: 300 },
    );
  });
});
