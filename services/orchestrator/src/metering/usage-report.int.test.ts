import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Conversation, ErrorBody, UsageReport, UsageReportPage, WorkspaceBudget } from '@uswarm/contract';
import { sql } from 'kysely';
import {
  first,
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../test/test-orchestrator.js';
import { nextPeriodAt, periodOf } from './period.js';
import { recordCall } from '../records/usage-rows.js';
import { insertTask } from '../records/turn-rows.js';
import { insertDelegation } from '../records/turn-part-rows.js';

const PRICES = { input: 2_000_000, cached_input: 500_000, output: 8_000_000 };
const NONE = {
  model_calls: 0,
  prompt_tokens: 0,
  cached_tokens: 0,
  completion_tokens: 0,
  reasoning_tokens: 0,
  cost_micros: null,
  unpriced_tokens: 0,
};

describe('the report of usage', () => {
  let uswarm: TestOrchestrator;
  let user: TestUser;
  let home: Home;
  let userId: string;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
  });
  beforeEach(async () => {
    user = await uswarm.user();
    home = await uswarm.home(user);
    ({ owner_id: userId } = await uswarm.database
      .selectFrom('workspaces')
      .select('owner_id')
      .where('id', '=', home.workspaceId)
      .executeTakeFirstOrThrow());
  });
  afterAll(() => uswarm.close());

  const agentOf = (slug: string): string => home.agents.find((agent) => agent.slug === slug)?.id ?? '';

  async function use(call: object = {}, at?: string): Promise<void> {
    const entry = {
      turnId: crypto.randomUUID(),
      step: 1,
      userId,
      workspaceId: home.workspaceId,
      agentId: agentOf('manager'),
      conversationId: home.conversationId,
      provider: 'openai',
      model: 'gpt-5',
      promptTokens: 100,
      completionTokens: 10,
      cachedTokens: 40,
      reasoningTokens: 4,
      estimated: false,
      modelId: 'sonnet',
      prices: PRICES,
      ...call,
    };
    await recordCall(uswarm.database, entry);
    if (at !== undefined) {
      await uswarm.database
        .updateTable('usage_entries')
        .set({ created_at: at })
        .where('turn_id', '=', entry.turnId)
        .execute();
    }
  }
  /** 60 × 2 + 40 × 0.5 + 10 × 8 */
  const COST = 220;
  const ONE = {
    model_calls: 1,
    prompt_tokens: 100,
    cached_tokens: 40,
    completion_tokens: 10,
    reasoning_tokens: 4,
    cost_micros: COST,
    unpriced_tokens: 0,
  };
  const page = async (query: string) =>
    (await user.get<UsageReportPage>(`${home.workspace}/usage/report?${query}`)).body;
  const report = async (query: string) => (await page(query)).data;
  const amounts = ({ groups }: UsageReport) => groups.map(({ key, name, usage }) => ({ key, name, usage }));

  it('is empty without usage, for the current month and by agent', async () => {
    const today = new Date().toISOString().slice(0, 10);
    expect(await report('')).toEqual({
      groups: [],
      from: `${periodOf(new Date())}-01`,
      to: today,
      currency: 'USD',
      total: NONE,
      budget: {
        period: periodOf(new Date()),
        monthly_cost_micros: null,
        monthly_tokens: null,
        currency: 'USD',
        cost_micros_used: 0,
        tokens_used: 0,
        state: 'none',
        resets_at: nextPeriodAt(new Date()).toISOString(),
      },
    });
  });

  it('has the share of each agent, with its name', async () => {
    await use();
    await use({ agentId: agentOf('researcher') });
    await use({ agentId: agentOf('researcher') });
    const found = await report('group_by=agent');
    const names = new Map(home.agents.map(({ id, name }) => [id, name]));
    const twice = {
      ...ONE,
      model_calls: 2,
      prompt_tokens: 200,
      cached_tokens: 80,
      completion_tokens: 20,
      reasoning_tokens: 8,
      cost_micros: 2 * COST,
    };
    const expected = [
      { key: agentOf('manager'), name: names.get(agentOf('manager')), usage: ONE },
      { key: agentOf('researcher'), name: names.get(agentOf('researcher')), usage: twice },
    ].toSorted((left, right) => (left.key < right.key ? 1 : -1));
    expect(amounts(found)).toEqual(expected);
    expect(found.total).toMatchObject({ model_calls: 3, cost_micros: 3 * COST });
  });

  it('has no cost for calls without a price, and states their tokens', async () => {
    await use({ model: 'own', prices: null, modelId: null });
    await use();
    const found = await report('group_by=model');
    const unpriced = { ...ONE, cost_micros: null, unpriced_tokens: 110 };
    expect(amounts(found)).toEqual([
      { key: 'openai/own', name: null, usage: unpriced },
      { key: 'openai/gpt-5', name: null, usage: ONE },
    ]);
    expect(found.total).toMatchObject({ cost_micros: COST, unpriced_tokens: 110 });
  });

  it('rounds the cost of each call up', async () => {
    await use({ promptTokens: 1, cachedTokens: 5, completionTokens: 0, prices: { ...PRICES, cached_input: 1 } });
    expect((await report('')).total.cost_micros).toBe(1);
  });

  it('keeps agents and conversations that were deleted, without a name', async () => {
    const path = `${home.workspace}/conversations`;
    const { body } = await user.post<{ data: Conversation }>(path, { type: 'swarm' }, 201);
    const conversationId = body.data.id;
    await use({ conversationId, turnId: conversationId });
    await user.delete(`${path}/${conversationId}`, undefined, 204);
    expect(amounts(await report('group_by=conversation'))).toEqual([{ key: conversationId, name: null, usage: ONE }]);
    expect((await report('group_by=turn')).groups).toEqual([
      {
        key: conversationId,
        name: null,
        usage: ONE,
        turn: { agent_id: agentOf('manager'), conversation_id: conversationId, delegated_by: null, total: ONE },
      },
    ]);
  });

  it('has the turns that a turn delegated in its total, also if turns were resumed', async () => {
    const { database } = uswarm;
    await user.post(home.messages, { content: { type: 'text', text: 'hi' } }, 201);
    const root = await database
      .selectFrom('turns')
      .select(['id', 'user_message_id'])
      .where('workspace_id', '=', home.workspaceId)
      .executeTakeFirstOrThrow();
    const give = async (parentTurnId: string, depth: number): Promise<string> => {
      const id = crypto.randomUUID();
      const { user_message_id: messageId } = root;
      const task = {
        workspaceId: home.workspaceId,
        conversationId: home.conversationId,
        userId,
        agentId: agentOf('researcher'),
        userMessageId: messageId,
        messageId,
        prompt: 'Find tea',
        depth,
        budget: null,
      };
      await insertTask(database, id, task);
      await insertDelegation(database, { turnId: id, parentTurnId, callId: id, messageId });
      return id;
    };
    const task = await give(root.id, 1);
    // The task was resumed: usage stays with the turn that began it, and the delegation belongs to the next one.
    const resumed = await give(root.id, 1);
    await sql`DELETE FROM delegations WHERE turn_id = ${task}`.execute(database);
    await database.updateTable('turns').set({ first_turn_id: task }).where('id', '=', resumed).execute();
    const below = await give(resumed, 2);
    await use({ turnId: root.id });
    for (const step of [1, 2]) await use({ turnId: task, step, agentId: agentOf('researcher') });
    await use({ turnId: below, agentId: agentOf('writer') });
    const { groups, total } = await report('group_by=turn');
    const found = groups.map(({ key, usage, turn }) => ({
      key,
      own: usage.cost_micros,
      total: turn?.total.cost_micros,
      delegated_by: turn?.delegated_by,
    }));
    expect(new Set(found)).toEqual(
      new Set([
        { key: root.id, own: COST, total: 4 * COST, delegated_by: null },
        { key: task, own: 2 * COST, total: 3 * COST, delegated_by: root.id },
        { key: below, own: COST, total: COST, delegated_by: task },
      ]),
    );
    expect(total.cost_micros).toBe(4 * COST);
    expect((await report('group_by=agent')).groups.map(({ usage }) => usage.model_calls).toSorted()).toEqual([1, 1, 2]);
  });

  it('finds the agent and conversation of usage of the previous release by its turn', async () => {
    await user.post(home.messages, { content: { type: 'text', text: 'hi' } }, 201);
    const turn = await uswarm.database
      .selectFrom('turns')
      .select(['id', 'agent_id'])
      .where('workspace_id', '=', home.workspaceId)
      .executeTakeFirstOrThrow();
    const old = {
      user_id: userId,
      workspace_id: home.workspaceId,
      provider: 'p',
      model: 'm',
      prompt_tokens: 3,
      completion_tokens: 2,
    };
    await uswarm.database
      .insertInto('usage_entries')
      .values([
        { ...old, turn_id: turn.id, step: 1 },
        { ...old, turn_id: crypto.randomUUID(), step: 1 },
      ])
      .execute();
    const keys = async (by: string) => (await report(`group_by=${by}`)).groups.map(({ key }) => key).toSorted();
    expect(await keys('agent')).toEqual([turn.agent_id, 'unknown'].toSorted());
    expect(await keys('conversation')).toEqual([home.conversationId, 'unknown'].toSorted());
    expect((await report('')).total).toMatchObject({ cost_micros: null, unpriced_tokens: 10 });
  });

  it('has the days from the first to the last one, in UTC', async () => {
    await use({}, '2028-02-28T23:59:59.999Z');
    await use({}, '2028-02-29T00:00:00.000Z');
    await use({}, '2028-03-01T23:59:59.999Z');
    await use({}, '2028-03-02T01:59:59.999+02:00');
    await use({}, '2028-03-02T00:00:00.000Z');
    const found = await report('group_by=day&from=2028-02-29&to=2028-03-01');
    expect(found.groups.map(({ key, usage }) => [key, usage.model_calls])).toEqual([
      ['2028-03-01', 2],
      ['2028-02-29', 1],
    ]);
    expect(found).toMatchObject({ from: '2028-02-29', to: '2028-03-01', total: { model_calls: 3 } });
    expect((await report('to=2028-02-29')).from).toBe('2028-02-01');
  });

  it('is paged by descending key, and each page has the total', async () => {
    for (let call = 0; call < 5; call += 1) await use();
    const keys: string[] = [];
    let scroll = '';
    for (const size of [2, 2, 1]) {
      const { data, pagination } = await page(`group_by=turn&limit=2${scroll}`);
      expect(data.total.model_calls).toBe(5);
      expect(data.groups).toHaveLength(size);
      keys.push(...data.groups.map(({ key }) => key));
      expect(pagination).toMatchObject({ has_next: keys.length < 5, has_prev: false, prev_scroll_id: null });
      scroll = `&scrollId=${pagination.next_scroll_id}`;
    }
    expect(keys).toEqual(keys.toSorted().toReversed());
    expect(new Set(keys).size).toBe(5);
  });

  it('accepts a cursor only for the same report', async () => {
    for (let call = 0; call < 2; call += 1) await use();
    const { pagination } = await page('group_by=turn&limit=1');
    for (const query of ['group_by=day', 'group_by=turn&to=2028-01-31'])
      expect(
        await user.refusal('GET', `${home.workspace}/usage/report?${query}&scrollId=${pagination.next_scroll_id}`),
      ).toBe('cursor_invalid');
  });

  it.each([
    ['from=2028-02-02&to=2028-02-01', 'from'],
    ['from=2027-01-01&to=2028-01-02', 'from'],
    ['from=2028-02-30', 'from'],
    ['to=yesterday', 'to'],
    ['group_by=user', 'group_by'],
  ])('rejects %s', async (query, path) => {
    const { status, body } = await user.raw<ErrorBody>({
      method: 'GET',
      path: `${home.workspace}/usage/report?${query}`,
    });
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'validation_failed' });
    expect(first(body.extra?.fields ?? []).path).toBe(path);
  });

  it('returns the same error for a workspace of another user as for an unknown one', async () => {
    const other = await uswarm.user();
    for (const id of [home.workspaceId, crypto.randomUUID()])
      for (const path of ['usage/report', 'budget'])
        expect(await other.refusal('GET', `/v1/workspaces/${id}/${path}`)).toBe('workspace_not_found');
  });

  describe('the budget', () => {
    const budget = async () => (await user.get<{ data: WorkspaceBudget }>(`${home.workspace}/budget`)).body.data;
    const change = (limits: object, status = 200) => user.patch(`${home.workspace}/budget`, limits, status);

    it('changes only the limits that a request contains, and null removes one', async () => {
      await change({ monthly_cost_micros: 1_000, monthly_tokens: 500 });
      await change({});
      await change({ monthly_tokens: null });
      expect(await budget()).toMatchObject({ monthly_cost_micros: 1_000, monthly_tokens: null, state: 'within' });
    });

    it.each([
      { monthly_cost_micros: 0 },
      { monthly_tokens: -1 },
      { monthly_cost_micros: 1.5 },
      { monthly_tokens: 2e15 },
    ])('rejects %j', async (limits) => {
      expect((await change(limits, 400)).status).toBe(400);
    });

    it('cannot be changed by another user', async () => {
      const other = await uswarm.user();
      await other.patch(`${home.workspace}/budget`, { monthly_tokens: 1 }, 404);
      expect(await budget()).toMatchObject({ monthly_tokens: null });
    });

    it('has the state and the usage of this month', async () => {
      await change({ monthly_cost_micros: 5 * COST });
      const states: string[] = [];
      for (let call = 0; call < 5; call += 1) {
        await use();
        states.push((await budget()).state);
      }
      expect(states).toEqual(['within', 'within', 'within', 'warning', 'reached']);
      expect(await budget()).toMatchObject({ cost_micros_used: 5 * COST });
    });
  });
});
