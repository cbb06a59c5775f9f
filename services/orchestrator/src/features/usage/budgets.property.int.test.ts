import { expect, it } from '@jest/globals';
import { ApiError, type Conversation, type MessagePage, type UsageReportPage } from '@uswarm/contract';
import { systemClock } from '@uswarm/service-kit';
import fc from 'fast-check';
import { createWithStatement, createWithTransaction } from '../../database/transaction.js';
import { tasksOf } from '../../../test/stores.js';
import { startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';
import { createTestTurnWorker, type TestTurnWorker } from '../../../test/turn-fixture.js';
import { createModelCallService } from '../model-calls/model-calls.service.js';
import { createModelCallStore } from '../model-calls/model-calls.store.js';
import { createPlans } from '../plans/plans.js';
import { createTurnWriter } from '../turns/turn-writer.js';
import type { TurnWriter } from '../turns/turn-writes.js';
import type { TurnRow } from '../turns/turns.store.js';
import { createUsageLimits } from './usage-limits.js';
import { createUsageStore } from './usage.store.js';

const TOKENS = 1_000_000_000;
const PLAN = {
  code: 'free',
  name: 'Free',
  token_limit: TOKENS,
  workspace_token_limit: TOKENS,
  turn_token_limit: TOKENS,
};
const SCHEDULES = 25;
const TURNS = 3;

type Mode = 'runtime' | 'gateway';

/** What happens in a workspace with parallel turns. */
type Operation =
  | { kind: 'call'; turns: number[]; prompt: number; output: number; used: number }
  | { kind: 'report'; calls: number[] }
  | { kind: 'refuse'; call: number }
  /** The process that makes the calls of a turn is killed: none of them is settled. */
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
      /** The part of the estimate that the server counts, in percent. */
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

interface Tokens {
  prompt: number;
  completion: number;
}

interface Prices {
  input: number;
  cached_input: number;
  output: number;
}

interface MadeCall {
  turn: number;
  step: number;
  id: string;
  estimate: Tokens;
  counted: Tokens;
  prices: Prices;
  /** What it counts as now, in micro US dollars. */
  cost: number;
}

const costOf = ({ prompt, completion }: Tokens, { input, output }: Prices): number =>
  Math.ceil((prompt * input + completion * output) / 1e6);

it.each<Mode>(['runtime', 'gateway'])(
  'invariant 8, invariant 9: %s calls of parallel turns cost at most the budget of their workspace and one call, and warn once, in every schedule',
  async (mode) => {
    const uswarm = await startTestOrchestrator();
    try {
      const worker = createTestTurnWorker(uswarm.database);
      await fc.assert(
        fc.asyncProperty(fc.array(operation, { minLength: 5, maxLength: 25 }), async (operations) => {
          const schedule = await startSchedule(uswarm, worker, mode);
          for (const one of operations) {
            await schedule.run(one);
            expect(await schedule.violations()).toEqual([]);
          }
        }),
        { numRuns: SCHEDULES },
      );
    } finally {
      await uswarm.close();
    }
  },
  120_000,
);

/** A workspace with running turns, each in its own conversation. */
async function startSchedule(uswarm: TestOrchestrator, worker: TestTurnWorker, mode: Mode) {
  const { database } = uswarm;
  const { stores } = worker;
  const withTransaction = createWithTransaction(database);
  const withStatement = createWithStatement(database);
  const limits = createUsageLimits({
    store: createUsageStore(database),
    plans: createPlans([PLAN]),
    clock: systemClock,
  });
  let prices: Prices = { input: 1_500_000, cached_input: 0, output: 6_000_000 };
  const price = () => ({ modelId: 'flash', prices });
  const gateway = createModelCallService({
    withTransaction,
    store: createModelCallStore(database),
    limits,
    models: { entry: () => undefined, price },
    warnAboutBudget: stores.warnAboutBudget,
    metrics: { used: () => undefined },
  });
  await database.deleteFrom('work').where('kind', '=', 'turn').execute();
  const user = await uswarm.user();
  const home = await uswarm.home(user);
  const turns: { row: TurnRow; writer: TurnWriter; steps: number }[] = [];
  const pages: string[] = [];
  for (let number = 0; number < TURNS; number += 1) {
    const path = `${home.workspace}/conversations`;
    const { body } = await user.post<{ data: Conversation }>(path, { type: 'swarm' }, 201);
    pages.push(`${path}/${body.data.id}/messages`);
    await user.post(pages[number] ?? '', { content: { type: 'text', text: 'hi' } }, 201);
    const job = await worker.claim();
    const row = await worker.turnOf(job);
    const writer = createTurnWriter(
      { ...stores, ...tasksOf(stores), withTransaction, withStatement, limits },
      row,
      job,
    );
    await writer.begin();
    turns.push({ row, writer, steps: 0 });
  }

  const made: MadeCall[] = [];
  let running: MadeCall[] = [];
  let budget: number | null = null;
  /** The most that may be used before the last call is accepted. */
  let bound = Infinity;
  let largestCall = 0;
  const warning = { due: false, possible: false };
  const total = (): number => made.reduce((sum, { cost }) => sum + cost, 0);

  const attemptOf = ({ turn, step, estimate }: MadeCall) => {
    const { row } = turns[turn]!;
    return {
      usageTurnId: row.usage_turn_id,
      userId: row.user_id,
      workspaceId: row.workspace_id,
      agentId: row.agent_id,
      conversationId: row.conversation_id,
      step,
      provider: 'p',
      model: 'm',
      promptTokens: estimate.prompt,
      maxOutputTokens: estimate.completion,
      ...price(),
    };
  };

  /** @returns whether the call may be sent */
  async function reserve(call: MadeCall): Promise<boolean> {
    const { row, writer } = turns[call.turn]!;
    if (mode === 'runtime') {
      const reserved = await writer.reserve(attemptOf(call), false);
      if (reserved !== 'reserved') expect(reserved).toMatchObject({ scope: 'budget', cost_limit_micros: budget });
      return reserved === 'reserved';
    }
    const reservation = {
      id: call.id,
      workspace_id: row.workspace_id,
      turn_id: row.id,
      agent_id: row.agent_id,
      purpose: 'turn',
      provider: 'p',
      model: 'm',
      requested_model: 'flash',
      estimated_prompt_tokens: call.estimate.prompt,
      max_output_tokens: call.estimate.completion,
    } as const;
    try {
      expect(await gateway.reserve(reservation)).toMatchObject({ prices });
      return true;
    } catch (error) {
      expect(error).toMatchObject({
        code: 'token_limit_reached',
        extra: { scope: 'budget', cost_limit_micros: budget },
      });
      return !(error instanceof ApiError);
    }
  }

  async function settle(call: MadeCall, outcome: 'completed' | 'refused'): Promise<void> {
    const { prompt, completion } = outcome === 'refused' ? { prompt: 0, completion: 0 } : call.counted;
    if (mode === 'gateway') {
      const counts = { cached_tokens: 0, reasoning_tokens: 0, estimated: false };
      await gateway.settle(call.id, { prompt_tokens: prompt, completion_tokens: completion, ...counts, outcome });
      return;
    }
    const { usageTurnId: turnId, ...attempt } = attemptOf(call);
    const counts = { cachedTokens: 0, reasoningTokens: 0, estimated: false };
    const { writer } = turns[call.turn]!;
    writer.usage(
      { ...attempt, turnId, promptTokens: prompt, completionTokens: completion, ...counts },
      outcome === 'refused' ? 'refused' : 'reserved',
      () => undefined,
    );
    await writer.flush();
  }

  async function callModels({ turns: of, prompt, output, used }: Operation & { kind: 'call' }): Promise<void> {
    const estimate = { prompt, completion: output };
    const counted = { prompt: Math.floor((prompt * used) / 100), completion: Math.floor((output * used) / 100) };
    await Promise.all(
      of.map(async (turn) => {
        const step = (turns[turn]!.steps += 1);
        const call: MadeCall = { turn, step, id: crypto.randomUUID(), estimate, counted, prices, cost: 0 };
        if (!(await reserve(call))) return;
        call.cost = costOf(estimate, prices);
        largestCall = Math.max(largestCall, call.cost);
        made.push(call);
        running.push(call);
      }),
    );
  }

  async function report(numbers: readonly number[]): Promise<void> {
    const calls = running.filter((_, index) => numbers.includes(index));
    if (calls.length === 0) return;
    const isDue = (): boolean => budget !== null && total() >= 0.8 * budget;
    warning.possible ||= isDue();
    await Promise.all(calls.map((call) => settle(call, 'completed')));
    for (const call of calls) call.cost = costOf(call.counted, call.prices);
    warning.due ||= isDue();
    running = running.filter((call) => !calls.includes(call));
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

  /** The statements that do not hold. */
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
        ({ row }, number) => (costs.get(row.usage_turn_id) ?? 0) === costOfTurn(number),
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
