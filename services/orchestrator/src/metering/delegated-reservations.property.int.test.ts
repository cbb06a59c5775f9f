import { expect, it } from '@jest/globals';
import { LIMITS } from '@uswarm/contract';
import { byTier } from '@uswarm/testkit/tier';
import fc from 'fast-check';
import { createWithStatement, createWithTransaction } from '../platform/database/transaction.js';
import { giveTask } from '../../test/delegated-turn.js';
import {
  countedOf,
  createMeteredCalls,
  type MeteredCall,
  type Mode,
  type WrittenTurn,
} from '../../test/metered-calls.js';
import { tasksOf } from '../../test/stores.js';
import { checkSchedules } from '../../test/metered-schedules.js';
import type { TestOrchestrator } from '../../test/test-orchestrator.js';
import type { TestTurnWorker } from '../../test/turn-fixture.js';
import { createTurnWriter } from '../turns/writer/turn-writer.js';
import { findTurnTokens, findUnallotted, grantBudget } from './reservations.store.js';

const BUDGET = 2_000;
const MONTH = 1_000_000_000;
const PLAN = {
  code: 'free',
  name: 'Free',
  token_limit: MONTH,
  workspace_token_limit: MONTH,
  turn_token_limit: BUDGET,
};
const SCHEDULES = byTier({ core: 12, all: 40 });
const TURNS = 8;
/** Parent index by task: the answer gives the first three, and two of them give the rest. */
const GIVEN_BY = [0, 0, 0, 1, 1, 2];

type Operation =
  | { kind: 'give'; turn: number }
  /** Concurrently. */
  | { kind: 'call'; turns: number[]; prompt: number; output: number; used: number }
  | { kind: 'report'; turn: number }
  | { kind: 'refuse'; turn: number }
  /** Kills the process that makes the call, so the call is never settled. */
  | { kind: 'kill'; turn: number }
  | { kind: 'end'; turn: number }
  | { kind: 'grant' };

const turnNumber = fc.nat(TURNS - 1);
const ofTurn = <Kind extends Operation['kind']>(kind: Kind) => fc.record({ kind: fc.constant(kind), turn: turnNumber });
const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 2, arbitrary: ofTurn('give') },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('call' as const),
      turns: fc.uniqueArray(turnNumber, { minLength: 3, maxLength: TURNS }),
      prompt: fc.integer({ min: 1, max: 300 }),
      output: fc.integer({ min: 1, max: 400 }),
      /** In percent, relative to the estimate. */
      used: fc.nat(100),
    }),
  },
  { weight: 5, arbitrary: ofTurn('report') },
  { weight: 1, arbitrary: ofTurn('refuse') },
  { weight: 1, arbitrary: ofTurn('kill') },
  { weight: 1, arbitrary: ofTurn('end') },
  { weight: 1, arbitrary: fc.constant({ kind: 'grant' as const }) },
);

interface Member extends WrittenTurn {
  parent: number | undefined;
  depth: number;
  running: boolean;
  calls: (MeteredCall & { state: 'running' | 'lost' | 'settled' })[];
}

it.each<Mode>(['runtime', 'gateway'])(
  'invariant 9: %s calls of an answer and its tasks exceed no budget by more than one call together, in every schedule',
  async (mode) => {
    const completed = await checkSchedules({
      operations: fc.array(operation, { minLength: 10, maxLength: 30 }),
      runs: SCHEDULES,
      plans: [PLAN],
      start: (uswarm, worker) => startSchedule(uswarm, worker, mode),
    });
    expect(completed).toBe(SCHEDULES);
  },
  120_000,
);

/** A user with an answer, whose tasks the schedule gives. */
async function startSchedule(uswarm: TestOrchestrator, worker: TestTurnWorker, mode: Mode) {
  const { database } = uswarm;
  const { stores } = worker;
  const withTransaction = createWithTransaction(database);
  const withStatement = createWithStatement(database);
  const price = () => ({ modelId: null, prices: null });
  const calls = createMeteredCalls({ database, stores, plan: PLAN, mode, price });
  await database.deleteFrom('work').where('kind', '=', 'turn').execute();
  const user = await uswarm.user();
  const home = await uswarm.home(user);
  await user.post(home.messages, { content: { type: 'text', text: 'hi' } }, 201);

  const members: Member[] = [];
  let largestCall = 0;

  async function begin(parent: number | undefined): Promise<void> {
    const job = await worker.claim();
    const turn = await worker.turnOf(job);
    const deps = { ...stores, ...tasksOf(stores), withTransaction, withStatement, limits: calls.limits };
    const writer = createTurnWriter(deps, turn, job);
    await writer.begin();
    members.push({ turn, writer, parent, depth: turn.task_depth ?? 0, running: true, calls: [] });
  }

  const usedBy = (one: Member, counts: (call: Member['calls'][number]) => boolean = () => true): number =>
    one.calls.filter(counts).reduce((sum, { state, counted, estimate }) => {
      const { prompt, completion } = state === 'settled' ? counted : estimate;
      return sum + prompt + completion;
    }, 0);
  const below = (number: number): Member[] => members.filter((_, other) => above(other).includes(members[number]!));
  function above(number: number): Member[] {
    const one = members[number]!;
    return one.parent === undefined ? [one] : [one, ...above(one.parent)];
  }
  const budgetOf = async ({ turn }: Member): Promise<number> =>
    (await findTurnTokens(database, turn.id)).budget ?? Number.NaN;

  /** True if a budget that limits the turn stays spent, even if other turns' running calls cost nothing. */
  async function isSpentFor(number: number): Promise<boolean> {
    const one = members[number]!;
    const spent = above(number).map(async (holder) => {
      const all = below(members.indexOf(holder));
      const kept = all.map((each) => usedBy(each, ({ state }) => state === 'settled' || !each.running || each === one));
      return kept.reduce((sum, used) => sum + used, 0) >= (await budgetOf(holder));
    });
    return (await Promise.all(spent)).includes(true);
  }

  const callOf = (one: Member | undefined) => one?.calls.find(({ state }) => state === 'running');

  async function give(number: number): Promise<void> {
    const by = members[number];
    if (by?.running !== true || by.depth >= LIMITS.delegationDepth || members.length === TURNS) return;
    const left = await findUnallotted(database, by.turn.id);
    const refused = await giveTask(stores, by, withTransaction);
    const open = members.filter((each) => each.parent === number && each.running).length;
    if (refused !== undefined) {
      expect(open >= LIMITS.parallelDelegations || (left ?? 0) <= LIMITS.parallelDelegations).toBe(true);
      return;
    }
    await begin(number);
    expect(await findUnallotted(database, by.turn.id)).toBe((left ?? 0) - (await budgetOf(members.at(-1)!)));
  }

  async function callModels({ turns, prompt, output, used }: Operation & { kind: 'call' }): Promise<void> {
    const estimate = { prompt, completion: output };
    const counted = countedOf(estimate, used);
    const free = turns.filter((number) => members[number]?.running === true && callOf(members[number]) === undefined);
    const results = await Promise.all(
      free.map(async (number) => {
        const one = members[number]!;
        const call = { step: one.calls.length + 1, callId: crypto.randomUUID(), estimate, counted };
        const reserved = await calls.reserve(one, call);
        if (reserved !== 'reserved') return { number, refused: true };
        largestCall = Math.max(largestCall, prompt + output);
        one.calls.push({ ...call, state: 'running' });
        return { number, refused: false };
      }),
    );
    for (const { number } of results.filter(({ refused }) => refused)) await refusedFor(number);
  }

  /** Checks again, as for a call that the gateway refused. */
  async function refusedFor(number: number): Promise<void> {
    const one = members[number]!;
    const attempt = calls.attemptOf(one.turn, { step: one.calls.length + 1, estimate: { prompt: 1, completion: 1 } });
    const why = await one.writer.reserve(attempt, true);
    expect(why).toBe((await isSpentFor(number)) ? 'budget_reached' : 'busy');
    if (why === 'budget_reached' && one.depth > 0) await end(number);
  }

  /** Ends a task that waits for no other one. */
  async function end(number: number): Promise<void> {
    const one = members[number];
    if (one?.running !== true || one.depth === 0) return;
    if (members.some(({ parent, running }) => parent === number && running)) return;
    await one.writer.finish({ turnStatus: 'done', messageStatus: 'delivered', text: 'Facts.', errorCode: null });
    one.running = false;
  }

  async function settle(number: number, refused: boolean): Promise<void> {
    const one = members[number];
    const call = callOf(one);
    // Without a gateway, an ended turn reports nothing.
    if (one === undefined || call === undefined || !(one.running || mode === 'gateway')) return;
    await calls.settle(one, call, call.counted, refused);
    if (refused) call.counted = { prompt: 0, completion: 0 };
    call.state = 'settled';
  }

  async function run(one: Operation): Promise<void> {
    if (one.kind === 'give') return give(one.turn);
    if (one.kind === 'call') return callModels(one);
    if (one.kind === 'end') return end(one.turn);
    if (one.kind === 'grant') {
      const { turn } = members[0]!;
      return withTransaction((tx) => grantBudget(tx, turn.id, BUDGET));
    }
    if (one.kind !== 'kill') return settle(one.turn, one.kind === 'refuse');
    const call = callOf(members[one.turn]);
    if (call !== undefined) call.state = 'lost';
  }

  /** @returns the violated invariants */
  async function violations(): Promise<string[]> {
    const found = members.map(async (one, number) => {
      const expected = below(number).reduce((sum, each) => sum + usedBy(each), 0);
      const { used, budget } = await findTurnTokens(database, one.turn.id);
      return [
        ...(used === expected ? [] : [`turn ${number} counts ${used} tokens instead of ${expected}`]),
        ...(used < (budget ?? 0) + Math.max(1, largestCall)
          ? []
          : [`turn ${number} exceeds its budget of ${budget} with ${used} tokens by more than ${largestCall}`]),
      ];
    });
    return (await Promise.all(found)).flat();
  }

  await begin(undefined);
  for (const number of GIVEN_BY) await give(number);
  return { run, violations };
}
