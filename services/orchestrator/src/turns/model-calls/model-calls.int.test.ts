import type { UsageEntry } from '../../records/usage-rows.js';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { MODEL_CALLS_PATH, MODEL_GATEWAY, type WorkspaceBudget, type WorkspaceUsage } from '@uswarm/contract';
import { parseSigningKey, signModelCallsToken } from '@uswarm/service-kit';
import { request } from 'undici';
import type { TurnWriter } from '../writer/turn-writes.js';
import { CHARGED_CALL } from '../../../test/charged-call.js';
import { createTestTurnWorker } from '../../../test/turn-fixture.js';
import {
  first,
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';

const LIMIT = 10_000;
const ESTIMATE = { prompt: 600, output: 400 };

describe('model calls', () => {
  let uswarm: TestOrchestrator;
  let user: TestUser;
  let home: Home;
  let turnId: string;
  let agentId: string;
  let writer: TurnWriter;
  const directory = mkdtempSync(path.join(tmpdir(), 'uswarm-plans-'));
  beforeAll(async () => {
    const plansFile = path.join(directory, 'plans.json');
    const plan = { code: 'free', name: 'Free', token_limit: LIMIT, workspace_token_limit: LIMIT };
    writeFileSync(plansFile, JSON.stringify([plan]));
    uswarm = await startTestOrchestrator({ environment: { PLANS_FILE: plansFile } });
  });
  afterAll(async () => {
    await uswarm.close();
    rmSync(directory, { recursive: true });
  });
  beforeEach(async () => {
    await uswarm.database.deleteFrom('work').where('kind', '=', 'turn').execute();
    user = await uswarm.user();
    home = await uswarm.home(user);
    await user.post(home.messages, { content: { type: 'text', text: 'hi' }, local_id: crypto.randomUUID() }, 201);
    const turnWorker = createTestTurnWorker(uswarm.database);
    const job = await turnWorker.claim();
    writer = await turnWorker.writerOf(job);
    await writer.begin();
    turnId = job.subjectId;
    agentId = (await turnWorker.turnOf(job)).agent_id;
  });

  async function call(method: 'POST' | 'PUT', address: string, body: object) {
    const token = await signModelCallsToken(parseSigningKey(uswarm.modelCallsKey), MODEL_GATEWAY);
    const answer = await request(`${uswarm.internalUrl}${address}`, {
      method,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    });
    return { status: answer.statusCode, body: (await answer.body.json()) as { code?: string; extra?: object } };
  }
  const reservation = (more: object = {}) => ({
    id: crypto.randomUUID(),
    workspace_id: home.workspaceId,
    turn_id: turnId,
    agent_id: agentId,
    purpose: 'turn',
    provider: 'openai',
    model: 'gpt',
    requested_model: 'flash',
    estimated_prompt_tokens: ESTIMATE.prompt,
    max_output_tokens: ESTIMATE.output,
    ...more,
  });
  const reserve = (more: object = {}) => call('POST', MODEL_CALLS_PATH, reservation(more));
  const usage = (more: object = {}) => ({
    prompt_tokens: 70,
    completion_tokens: 30,
    cached_tokens: 50,
    reasoning_tokens: 20,
    estimated: false,
    outcome: 'completed',
    ...more,
  });
  const settle = (id: string, more: object = {}) => call('PUT', `${MODEL_CALLS_PATH}/${id}`, usage(more));
  const entries = () =>
    uswarm.database.selectFrom('usage_entries').selectAll().where('turn_id', '=', turnId).orderBy('step').execute();
  const used = async () => (await user.get<{ data: WorkspaceUsage }>(`${home.workspace}/usage`)).body.data;

  const promptTokens = async (): Promise<number> => {
    const metric = await uswarm.metrics.getSingleMetric('uswarm_model_tokens_total')?.get();
    const ofProvider = metric?.values.find(
      ({ labels }) => labels['provider'] === 'openai' && labels['direction'] === 'prompt',
    );
    return ofProvider?.value ?? Number.NaN;
  };

  it('counts the estimate from the reservation on, at the next step of the turn', async () => {
    for (const step of [1, 2]) {
      const id = crypto.randomUUID();
      expect((await reserve({ id })).status).toBe(201);
      expect((await entries()).at(-1)).toMatchObject({
        step,
        call_id: id,
        prompt_tokens: 600,
        completion_tokens: 400,
        estimated: true,
        workspace_id: home.workspaceId,
        provider: 'openai',
        model: 'gpt',
      });
    }
    expect(await used()).toMatchObject({ tokens_used: 2_000, request_count: 2 });
  });

  it('tells the gateway the context window and the prices of the model, if the catalogue has them', async () => {
    const known = await reserve();
    expect(known).toMatchObject({
      status: 201,
      body: { context_window: 128_000, prices: { input: 150_000, cached_input: 75_000, output: 600_000 } },
    });
    const unknown = await reserve({ requested_model: 'gpt' });
    expect(unknown.body).toEqual({ context_window: null, prices: null });
  });

  it('replaces the estimate by the reported tokens, also if it is settled twice', async () => {
    const id = crypto.randomUUID();
    await reserve({ id });
    const before = await promptTokens();
    expect((await settle(id)).status).toBe(200);
    expect(await promptTokens()).toBe(before + 70);
    expect((await settle(id)).status).toBe(200);
    expect(await promptTokens()).toBe(before + 70);
    expect(first(await entries())).toMatchObject({
      prompt_tokens: 70,
      completion_tokens: 30,
      cached_tokens: 50,
      reasoning_tokens: 20,
      estimated: false,
    });
    expect(await used()).toMatchObject({ prompt_tokens_used: 70, completion_tokens_used: 30, request_count: 1 });
  });

  it('have the cost of their tokens by the catalogue, first of the estimate and then of the reported ones', async () => {
    const id = crypto.randomUUID();
    await reserve({ id });
    const [conversation] = await uswarm.database
      .selectFrom('turns')
      .select('conversation_id')
      .where('id', '=', turnId)
      .execute();
    // OpenAI's Flash costs 0.15 for input, 0.075 for cached input and 0.6 for output, in micro US dollars per token.
    expect(first(await entries())).toMatchObject({
      cost_micros: 600 * 0.15 + 400 * 0.6,
      agent_id: agentId,
      conversation_id: conversation?.conversation_id,
      model_id: 'flash',
    });
    await settle(id);
    // 20 × 0.15 + 50 × 0.075 + 30 × 0.6 is 24.75.
    expect(first(await entries())).toMatchObject({ cost_micros: 25 });
    await reserve({ requested_model: 'gpt' });
    expect((await entries())[1]).toMatchObject({ cost_micros: null, prices: null, model_id: null });
    const { body } = await user.get<{ data: WorkspaceBudget }>(`${home.workspace}/budget`);
    expect(body.data).toMatchObject({ cost_micros_used: 25, tokens_used: 1_100 });
  });

  it('invariant 9: are refused with 402 once the budget of the workspace is reached, also for summaries', async () => {
    await user.patch(`${home.workspace}/budget`, { monthly_cost_micros: 331 }, 200);
    expect((await reserve()).status).toBe(201);
    expect((await reserve()).status).toBe(201);
    for (const purpose of ['turn', 'summary']) {
      expect(await reserve({ purpose })).toMatchObject({
        status: 402,
        body: { code: 'token_limit_reached', extra: { scope: 'budget', cost_limit_micros: 331, currency: 'USD' } },
      });
    }
    await user.patch(`${home.workspace}/budget`, { monthly_cost_micros: null, monthly_tokens: 2_000 }, 200);
    expect(await reserve()).toMatchObject({ status: 402, body: { extra: { scope: 'budget', token_limit: 2_000 } } });
    await user.patch(`${home.workspace}/budget`, { monthly_tokens: 2_001 }, 200);
    expect((await reserve()).status).toBe(201);
  });

  it('do not count if the provider refused them', async () => {
    const id = crypto.randomUUID();
    await reserve({ id });
    expect((await settle(id, { outcome: 'refused' })).status).toBe(200);
    expect(await entries()).toEqual([]);
    expect(await used()).toMatchObject({ tokens_used: 0, request_count: 0 });
  });

  it('are refused with 402 once the limit is reached, and allowed while one token is left', async () => {
    const id = crypto.randomUUID();
    await reserve({ id });
    await settle(id, { prompt_tokens: LIMIT - 1, completion_tokens: 0 });
    expect((await reserve()).status).toBe(201);
    expect(await reserve()).toMatchObject({
      status: 402,
      body: { code: 'token_limit_reached', extra: { scope: 'user', token_limit: LIMIT } },
    });
    expect(await entries()).toHaveLength(2);
  });

  it('exceed the limit by at most one estimate if 50 are reserved concurrently', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => reserve()));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(LIMIT / (ESTIMATE.prompt + ESTIMATE.output));
    expect(new Set(statuses)).toEqual(new Set([201, 402]));
    const { tokens_used } = await used();
    expect(tokens_used).toBeGreaterThanOrEqual(LIMIT);
    expect(tokens_used).toBeLessThan(LIMIT + ESTIMATE.prompt + ESTIMATE.output);
    const steps = (await entries()).map(({ step }) => step);
    expect(steps).toEqual(steps.map((_, index) => index + 1));
  });

  it('are the only usage of their turn: what its runtime reports is ignored', async () => {
    const userId = first(
      await uswarm.database
        .selectFrom('turns as t')
        .innerJoin('workspaces as w', 'w.id', 't.workspace_id')
        .select('w.owner_id')
        .where('t.id', '=', turnId)
        .execute(),
    ).owner_id;
    const reported = { ...CHARGED_CALL, turnId, userId, workspaceId: home.workspaceId, provider: 'p', model: 'm' };
    const record = async (entry: UsageEntry): Promise<void> => {
      writer.usage(entry, 'unannounced', () => undefined);
      await writer.flush();
    };
    await record({
      ...reported,
      step: 1,
      promptTokens: 1,
      completionTokens: 1,
      cachedTokens: 0,
      reasoningTokens: 0,
      estimated: false,
    });
    expect(await used()).toMatchObject({ tokens_used: 2, request_count: 1 });
    await reserve();
    await record({
      ...reported,
      step: 3,
      promptTokens: 5_000,
      completionTokens: 1,
      cachedTokens: 0,
      reasoningTokens: 0,
      estimated: false,
    });
    expect(await used()).toMatchObject({ tokens_used: 1_002, request_count: 2 });
  });

  it('invariant 9: are refused with 402 and another code once the budget of the turn is spent, except for summaries', async () => {
    const setBudget = (tokens_budget: number) =>
      uswarm.database.updateTable('turns').set({ tokens_budget }).where('id', '=', turnId).execute();
    await setBudget(1_001);
    expect((await reserve()).status).toBe(201);
    const id = crypto.randomUUID();
    expect((await reserve({ id })).status).toBe(201);
    // Repeating a reservation is not another one.
    expect((await reserve({ id })).status).toBe(201);
    expect(await reserve()).toEqual({ status: 402, body: { code: 'turn_budget_reached' } });
    expect((await reserve({ purpose: 'summary' })).status).toBe(201);
    expect(await entries()).toHaveLength(3);
    await settle(id);
    // The first estimate plus the second call's tokens is one token too many.
    expect((await reserve()).status).toBe(402);
    await setBudget(1_101);
    expect((await reserve()).status).toBe(201);
  });

  it('invariant 9: exceed the budget of their turn by at most one estimate in concurrent branches', async () => {
    await uswarm.database.updateTable('turns').set({ tokens_budget: 2_500 }).where('id', '=', turnId).execute();
    const answers = await Promise.all(Array.from({ length: 10 }, () => reserve()));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(3);
    expect(await used()).toMatchObject({ tokens_used: 3_000 });
  });

  it('are refused for a turn that does not run, except for its summary', async () => {
    await uswarm.database.updateTable('turns').set({ status: 'done' }).where('id', '=', turnId).execute();
    expect(await reserve()).toMatchObject({ status: 409, body: { code: 'turn_not_running' } });
    expect((await reserve({ purpose: 'summary' })).status).toBe(201);
  });

  it('are refused for a turn that a user stops', async () => {
    await uswarm.database.updateTable('turns').set({ stop_requested: true }).where('id', '=', turnId).execute();
    expect(await reserve()).toMatchObject({ status: 409, body: { code: 'turn_not_running' } });
  });

  it('are not found for a turn of another workspace or for another agent', async () => {
    const other = await uswarm.home(await uswarm.user());
    expect((await reserve({ workspace_id: other.workspaceId })).status).toBe(404);
    expect((await reserve({ turn_id: crypto.randomUUID() })).status).toBe(404);
    expect((await reserve({ agent_id: crypto.randomUUID() })).status).toBe(404);
    expect(await entries()).toEqual([]);
  });

  it('cannot be settled if they were never reserved', async () => {
    expect((await settle(crypto.randomUUID())).status).toBe(404);
    expect((await settle('no-id')).status).toBe(404);
  });
});
