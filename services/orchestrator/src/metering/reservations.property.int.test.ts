import { expect, it } from '@jest/globals';
import type { MessageData } from '@uswarm/contract';
import { byTier } from '@uswarm/testkit/tier';
import fc from 'fast-check';
import { createWithStatement, createWithTransaction } from '../platform/database/transaction.js';
import type { LeasedJob } from '../platform/jobs/job-queue.js';
import { checkSchedules } from '../../test/metered-schedules.js';
import type { TestOrchestrator } from '../../test/test-orchestrator.js';
import { countedOf, createMeteredCalls, type MeteredCall, type Mode } from '../../test/metered-calls.js';
import { TURN_CONTEXT } from '../../test/turn-context.js';
import { tasksOf } from '../../test/stores.js';
import type { TestTurnWorker } from '../../test/turn-fixture.js';
import { createTurnWriter } from '../turns/writer/turn-writer.js';
import type { TurnWriter } from '../turns/writer/turn-writes.js';
import { type TurnRow, findNextStep } from '../turns/turns.store.js';
import { periodOf } from './period.js';
import { findUsageOfWorkspace } from './usage.store.js';
import { findTurnTokens } from './reservations.store.js';

const BUDGET = 1_000;
const MONTH = 1_000_000_000;
const PLAN = {
  code: 'free',
  name: 'Free',
  token_limit: MONTH,
  workspace_token_limit: MONTH,
  turn_token_limit: BUDGET,
};
/** A token costs more than a micro US dollar, so that rounding changes nothing. */
const PRICES = { input: 3_000_000, cached_input: 1_000_000, output: 15_000_000 };
const SCHEDULES = byTier({ core: 15, all: 40 });
const BRANCHES = 5;

type Operation =
  | { kind: 'call'; branches: number[]; prompt: number; output: number; used: number }
  | { kind: 'report'; branch: number }
  | { kind: 'refuse'; branch: number }
  | { kind: 'repeat'; branch: number }
  | { kind: 'kill' }
  | { kind: 'stop' }
  | { kind: 'decide'; action: 'continue' | 'stop' };

const branch = fc.nat(BRANCHES - 1);
const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('call' as const),
      branches: fc.uniqueArray(branch, { minLength: 1, maxLength: BRANCHES }),
      prompt: fc.integer({ min: 1, max: 300 }),
      output: fc.integer({ min: 1, max: 200 }),
      /** Percent of the estimate. */
      used: fc.nat(100),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constantFrom('report' as const, 'refuse' as const, 'repeat' as const), branch }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'kill' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'stop' as const }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('decide' as const),
      action: fc.constantFrom('continue' as const, 'stop' as const),
    }),
  },
);

it.each<Mode>(['runtime', 'gateway'])(
  'invariant 8, invariant 9: %s calls of up to five branches are counted, and exceed no budget by more than one call, in every schedule',
  async (mode) => {
    const completed = await checkSchedules({
      operations: fc.array(operation, { minLength: 5, maxLength: 25 }),
      runs: SCHEDULES,
      plans: [PLAN],
      start: (uswarm, worker) => startSchedule(uswarm, worker, mode),
    });
    expect(completed).toBe(SCHEDULES);
  },
  120_000,
);

/** A user with one turn, and the calls that the model server has counted. */
async function startSchedule(uswarm: TestOrchestrator, worker: TestTurnWorker, mode: Mode) {
  const { database } = uswarm;
  const withTransaction = createWithTransaction(database);
  const withStatement = createWithStatement(database);
  const price = () => ({ modelId: null, prices: PRICES });
  const calls = createMeteredCalls({ database, stores: worker.stores, plan: PLAN, mode, price });
  await database.deleteFrom('work').where('kind', '=', 'turn').execute();
  const user = await uswarm.user();
  const home = await uswarm.home(user);
  await user.post(home.messages, { content: { type: 'text', text: 'hi' }, local_id: crypto.randomUUID() }, 201);

  let job: LeasedJob;
  let turn: TurnRow;
  let writer: TurnWriter;
  let state: 'running' | 'suspended' | 'ended' = 'running';
  let step = 0;
  let largestCall = 0;
  const running = new Map<number, MeteredCall>();
  const sent: MeteredCall[] = [];

  async function begin(): Promise<void> {
    job = await worker.claim();
    await attach();
    await writer.begin();
    await writer.setInstance({ instance: { id: 'i', budgeted: true, context: TURN_CONTEXT }, untrusted: [] });
    state = 'running';
  }

  async function attach(): Promise<void> {
    turn = await worker.turnOf(job);
    writer = createTurnWriter(
      { ...worker.stores, ...tasksOf(worker.stores), withTransaction, withStatement, limits: calls.limits },
      turn,
      job,
    );
    step = Math.max(step, (await findNextStep(worker.stores.database, turn.usage_turn_id)) - 1);
  }

  const reserve = (call: MeteredCall) => calls.reserve({ turn, writer }, call);
  const settle = (call: MeteredCall, ...how: [MeteredCall['counted'], boolean?]) =>
    calls.settle({ turn, writer }, call, ...how);

  async function callModel({ branches, prompt, output, used }: Operation & { kind: 'call' }): Promise<void> {
    const free = branches.filter((one) => !running.has(one));
    const estimate = { prompt, completion: output };
    const counted = countedOf(estimate, used);
    const results = await Promise.all(
      free.map(async (one) => {
        step += 1;
        const made = { step, callId: crypto.randomUUID(), estimate, counted };
        const reserved = await reserve(made);
        if (reserved !== 'reserved') return reserved;
        largestCall = Math.max(largestCall, prompt + output);
        running.set(one, made);
        sent.push(made);
        return reserved;
      }),
    );
    if (!results.includes('budget_reached')) return;
    if (mode === 'gateway')
      expect(await writer.reserve(calls.attemptOf(turn, { step, estimate }), true)).toBe('budget_reached');
    await writer.askForTokens('So far.');
    // The runtime stops all branches. Without a gateway, their usage is no longer reported.
    if (mode === 'gateway') await Promise.all(Array.from(running.values(), (cut) => settle(cut, cut.counted)));
    running.clear();
    state = 'suspended';
  }

  async function decide(action: 'continue' | 'stop'): Promise<void> {
    const { body } = await user.get<{ data: MessageData[] }>(home.messages);
    const card = body.data.find(
      ({ content }) => content.type === 'action_card' && (content.selected_action_id ?? null) === null,
    );
    await user.post(`${home.workspace}/messages/${card?.id}/action`, { action_id: action }, 200);
    if (action === 'continue') return begin();
    expect(await database.selectFrom('work').select('subject_id').where('kind', '=', 'turn').execute()).toEqual([]);
    state = 'ended';
  }

  async function kill(): Promise<void> {
    running.clear();
    // Each generation has made progress, so that the turn does not fail.
    await database.deleteFrom('turn_entries').where('turn_id', '=', turn.id).execute();
    const entry = { number: 1, kind: 'step', body: '{}' } as const;
    await writer.entry(turn.generation, entry);
    await writer.nextGeneration(2);
    await attach();
    await writer.setInstance({ instance: { id: 'i', budgeted: true, context: TURN_CONTEXT }, untrusted: [] });
  }

  async function ofBranch(kind: 'report' | 'refuse' | 'repeat', one: number): Promise<void> {
    const made = running.get(one);
    if (made === undefined) return;
    if (kind === 'repeat') {
      // Another worker applies the runtime's events again, or the runtime tries to announce less than before.
      const less = { ...made, estimate: { prompt: 0, completion: 0 } };
      if (mode === 'runtime') expect(await reserve(less)).toBe('reserved');
      return;
    }
    if (kind === 'refuse') made.counted = { prompt: 0, completion: 0 };
    await settle(made, made.counted, kind === 'refuse');
    // A second report changes nothing.
    if (mode === 'runtime' && kind === 'report') await settle(made, { prompt: 0, completion: 0 });
    running.delete(one);
  }

  async function run(one: Operation): Promise<void> {
    if (one.kind === 'decide') return state === 'suspended' ? decide(one.action) : undefined;
    // The gateway also settles calls after their turn was stopped.
    if (state === 'ended' && mode === 'gateway' && one.kind === 'report') return ofBranch('report', one.branch);
    if (state !== 'running') return;
    if (one.kind === 'call') await callModel(one);
    else if (one.kind === 'kill') await kill();
    else if (one.kind === 'stop') {
      await writer.finish({ turnStatus: 'stopped', messageStatus: 'failed', text: '', errorCode: null });
      state = 'ended';
    } else await ofBranch(one.kind, one.branch);
  }

  /** @returns the violated invariants */
  async function violations(): Promise<string[]> {
    const rows = await database
      .selectFrom('usage_entries')
      .selectAll()
      .where('workspace_id', '=', home.workspaceId)
      .execute();
    const prompt = rows.reduce((sum, row) => sum + row.prompt_tokens, 0);
    const completion = rows.reduce((sum, row) => sum + row.completion_tokens, 0);
    const counted = sent.filter((made) => made.counted.prompt + made.counted.completion > 0);
    const { budget, used } = await findTurnTokens(database, turn.id);
    const cost = rows.reduce((sum, row) => sum + (row.cost_micros ?? Number.NaN), 0);
    const month = await findUsageOfWorkspace(database, home.workspaceId, periodOf(new Date()));
    const statements: Record<string, boolean> = {
      'each call that the server counted has a row': rows.length >= counted.length,
      'a call has at most one row': rows.length <= sent.length,
      'the prompt tokens are not below those of the server':
        prompt >= counted.reduce((sum, made) => sum + made.counted.prompt, 0),
      'the completion tokens are not below those of the server':
        completion >= counted.reduce((sum, made) => sum + made.counted.completion, 0),
      'the turn knows all tokens': used === prompt + completion,
      'the turn exceeds its budget by less than one call': used < (budget ?? 0) + Math.max(1, largestCall),
      'the cost follows from the tokens': cost === prompt * 3 + completion * 15,
      'the month has the same cost': month?.cost_micros === cost,
      'the month has the same tokens':
        month?.prompt_tokens === prompt && month.completion_tokens === completion && month.requests === rows.length,
    };
    return Object.keys(statements).filter((statement) => !statements[statement]);
  }

  await begin();
  return { run, violations };
}
