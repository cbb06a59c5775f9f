import { expect, it } from '@jest/globals';
import { ApiError, type Conversation, type MessagePage, type UsageReportPage } from '@uswarm/contract';
import { byTier } from '@uswarm/testkit/tier';
import fc from 'fast-check';
import { createWithStatement, createWithTransaction } from '../platform/database/transaction.js';
import { giveTask } from '../../test/delegated-turn.js';
import {
  countedOf,
  createMeteredCalls,
  type MeteredCall,
  type Mode,
  type Tokens,
  type WrittenTurn,
} from '../../test/metered-calls.js';
import { tasksOf } from '../../test/stores.js';
import { checkSchedules } from '../../test/metered-schedules.js';
import type { TestOrchestrator } from '../../test/test-orchestrator.js';
import type { TestTurnWorker } from '../../test/turn-fixture.js';
import { createTurnWriter } from '../turns/writer/turn-writer.js';

const TOKENS = 1_000_000_000;
const PLAN = {
  code: 'free',
  name: 'Free',
  token_limit: TOKENS,
  workspace_token_limit: TOKENS,
  turn_token_limit: TOKENS,
};
const SCHEDULES = byTier({ core: 10, all: 25 });
const ANSWERS = 2;
/** Adds one answer's task, and that task's own task. */
const TURNS = ANSWERS + 2;

type Operation =
  | { kind: 'call'; turns: number[]; prompt: number; output: number; used: number }
  | { kind: 'report'; calls: number[] }
  | { kind: 'refuse'; call: number }
  /** Kills the process that makes the turn's calls, so none of them is settled. */
  | { kind: 'kill'; turn: number }
  | { kind: 'budget'; micros: number | null }
  | { kind: 'prices'; input: number; output: number };

const turnNumber = fc.nat(TURNS - 1);
const callNumber = fc.nat(5);
const constant = <Kind extends Operation['kind']>(kind: Kind) => fc.constant(kind);
const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: constant('call'),
      turns: fc.array(turnNumber, { minLength: 1, maxLength: 5 }),
      prompt: fc.integer({ min: 1, max: 3_000 }),
      output: fc.integer({ min: 1, max: 2_000 }),
      /** Percent of the estimate. */
      used: fc.nat(100),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: constant('report'),
      calls: fc.uniqueArray(callNumber, { minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: constant('refuse'), call: callNumber }) },
  { weight: 1, arbitrary: fc.record({ kind: constant('kill'), turn: turnNumber }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: constant('budget'),
      micros: fc.option(fc.integer({ min: 1, max: 60_000 }), { freq: 8 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: constant('prices'),
      input: fc.integer({ min: 0, max: 5_000_000 }),
      output: fc.integer({ min: 1, max: 9_999_999 }),
    }),
  },
);

interface Prices {
  input: number;
  cached_input: number;
  output: number;
}

interface MadeCall extends MeteredCall {
  turn: number;
  prices: Prices;
  /** Counted so far, in micro US dollars. */
  cost: number;
}

const costOf = ({ prompt, completion }: Tokens, { input, output }: Prices): number =>
  Math.ceil((prompt * input + completion * output) / 1e6);

it.each<Mode>(['runtime', 'gateway'])(
  'invariant 8, invariant 9: %s calls of parallel turns and of their tasks cost at most the budget of their workspace and one call, and warn once, in every schedule',
  async (mode) => {
    const completed = await checkSchedules({
      operations: fc.array(operation, { minLength: 5, maxLength: 25 }),
      runs: SCHEDULES,
      start: (uswarm, worker) => startSchedule(uswarm, worker, mode),
    });
    expect(completed).toBe(SCHEDULES);
  },
  120_000,
);

/** A workspace with running turns: answers, each in its own conversation, and tasks. */
async function startSchedule(uswarm: TestOrchestrator, worker: TestTurnWorker, mode: Mode) {
  const { database } = uswarm;
  const { stores } = worker;
  const withTransaction = createWithTransaction(database);
  const withStatement = createWithStatement(database);
  let prices: Prices = { input: 1_500_000, cached_input: 0, output: 6_000_000 };
  const price = () => ({ modelId: 'flash', prices });
  const calls = createMeteredCalls({ database, stores, plan: PLAN, mode, price });
  await database.deleteFrom('work').where('kind', '=', 'turn').execute();
  const user = await uswarm.user();
  const home = await uswarm.home(user);
  const turns: (WrittenTurn & { steps: number })[] = [];
  const pages: string[] = [];

  async function begin(): Promise<void> {
    const job = await worker.claim();
    const turn = await worker.turnOf(job);
    const writer = createTurnWriter(
      { ...stores, ...tasksOf(stores), withTransaction, withStatement, limits: calls.limits },
      turn,
      job,
    );
    await writer.begin();
    turns.push({ turn, writer, steps: 0 });
  }

  for (let number = 0; number < ANSWERS; number += 1) {
    const path = `${home.workspace}/conversations`;
    const { body } = await user.post<{ data: Conversation }>(path, { type: 'swarm' }, 201);
    pages.push(`${path}/${body.data.id}/messages`);
    await user.post(pages[number] ?? '', { content: { type: 'text', text: 'hi' } }, 201);
    await begin();
  }
  for (let from = ANSWERS - 1; from < TURNS - 1; from += 1) {
    await giveTask(stores, turns[from]!, withTransaction);
    await begin();
  }

  const made: MadeCall[] = [];
  let running: MadeCall[] = [];
  let budget: number | null = null;
  /** Upper bound before the last accepted call. */
  let bound = Infinity;
  let largestCall = 0;
  const warning = { due: false, possible: false };
  const total = (): number => made.reduce((sum, { cost }) => sum + cost, 0);

  async function reserve(call: MadeCall): Promise<boolean> {
    const reserved = await calls.reserve(turns[call.turn]!, call).catch((error: unknown) => {
      if (error instanceof ApiError && error.code === 'token_limit_reached') return error.extra;
      throw error;
    });
    if (reserved !== 'reserved') expect(reserved).toMatchObject({ scope: 'budget', cost_limit_micros: budget });
    return reserved === 'reserved';
  }

  const settle = (call: MadeCall, outcome: 'completed' | 'refused') =>
    calls.settle(turns[call.turn]!, call, call.counted, outcome === 'refused');

  async function callModels({ turns: of, prompt, output, used }: Operation & { kind: 'call' }): Promise<void> {
    const estimate = { prompt, completion: output };
    const counted = countedOf(estimate, used);
    await Promise.all(
      of.map(async (turn) => {
        const step = (turns[turn]!.steps += 1);
        const call: MadeCall = { turn, step, callId: crypto.randomUUID(), estimate, counted, prices, cost: 0 };
        if (!(await reserve(call))) return;
        call.cost = costOf(estimate, prices);
        largestCall = Math.max(largestCall, call.cost);
        made.push(call);
        running.push(call);
      }),
    );
  }

  async function report(numbers: readonly number[]): Promise<void> {
    const ended = running.filter((_, index) => numbers.includes(index));
    if (ended.length === 0) return;
    const isDue = (): boolean => budget !== null && total() >= 0.8 * budget;
    warning.possible ||= isDue();
    await Promise.all(ended.map((call) => settle(call, 'completed')));
    for (const call of ended) call.cost = costOf(call.counted, call.prices);
    warning.due ||= isDue();
    running = running.filter((call) => !ended.includes(call));
  }

  async function setBudget(micros: number | null): Promise<void> {
    budget = micros;
    bound = micros === null ? Infinity : Math.max(micros, total());
    largestCall = 0;
    await user.patch(`${home.workspace}/budget`, { monthly_cost_micros: micros }, 200);
  }

  async function run(one: Operation): Promise<void> {
    if (one.kind === 'call') return callModels(one);
    if (one.kind === 'report') return report(one.calls);
    if (one.kind === 'budget') return setBudget(one.micros);
    if (one.kind === 'prices') prices = { input: one.input, cached_input: 0, output: one.output };
    else if (one.kind === 'kill') running = running.filter(({ turn }) => turn !== one.turn);
    else {
      const call = running[one.call];
      if (call === undefined) return;
      await settle(call, 'refused');
      call.cost = 0;
      running = running.filter((each) => each !== call);
    }
  }

  /** @returns the violated invariants */
  async function violations(): Promise<string[]> {
    const { body } = await user.get<UsageReportPage>(`${home.workspace}/usage/report?group_by=turn`);
    const { data: reported } = body;
    const cost = total();
    const costOfTurn = (number: number) =>
      made.filter(({ turn }) => turn === number).reduce((sum, call) => sum + call.cost, 0);
    const costs = new Map(reported.groups.map(({ key, usage }) => [key, usage.cost_micros]));
    const messages = await Promise.all(pages.map(async (page) => (await user.get<MessagePage>(page)).body.data));
    const warnings = messages.flat().filter(({ role }) => role === 'system').length;
    const statements: Record<string, boolean> = {
      'the month has the cost of all calls, by the prices when they were made':
        reported.budget.cost_micros_used === cost,
      'the report has the same cost': (reported.total.cost_micros ?? 0) === cost,
      'each turn has the cost of its calls': turns.every(
        ({ turn }, number) => (costs.get(turn.usage_turn_id) ?? 0) === costOfTurn(number),
      ),
      'the budget is exceeded by less than one call': cost < bound + Math.max(1, largestCall),
      'the user is warned at most once': warnings <= 1,
      'the user is warned when 80% are used': !warning.due || warnings === 1,
      'the user is not warned before': warning.possible || warnings === 0,
    };
    return Object.keys(statements).filter((statement) => !statements[statement]);
  }

  await setBudget(20_000);
  return { run, violations };
}
