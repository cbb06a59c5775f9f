import { describe, expect, it } from '@jest/globals';
import type { MessageData, UsageReportPage, WorkspaceBudget } from '@uswarm/contract';
import { type Installation, useInstallation, withGateway, withoutGateway } from '../test/budgeted-turns.js';

/** By the catalogue: sonnet of openai costs 2.5 and 10 micro US dollars per token. */
const COST_PER_ANSWER = 40 * 2.5 + 6 * 10;
const BUDGET = (2 * COST_PER_ANSWER * 5) / 8;

describe.each([
  ['with a model gateway', () => withGateway({ SUMMARY_WORKERS: '0' })],
  ['without a model gateway', withoutGateway],
])('the budget of a workspace, %s', (_how, start: () => Promise<Installation>) => {
  const world = useInstallation(start);

  const route = (path: string) => `/v1/workspaces/${world.client.workspaceId}/${path}`;
  const setBudget = async (limits: object) => {
    const { status, body } = await world.client.api('PATCH', route('budget'), limits);
    expect(status).toBe(200);
    return (body as { data: WorkspaceBudget }).data;
  };
  const report = async (by: string) =>
    ((await world.client.api('GET', route(`usage/report?group_by=${by}`))).body as UsageReportPage).data;
  const notes = () =>
    world.client.events
      .filter(({ name }) => name === 'message.new')
      .map(({ payload }) => payload['message'] as MessageData)
      .filter(({ role }) => role === 'system')
      .map(({ content }) => (content.type === 'system' ? content.text : ''));

  /** Gets an answer with a known cost. */
  async function answer(count: number): Promise<void> {
    const hold = `hold-${crypto.randomUUID().slice(0, 8)}`;
    await world.client.send(`Count to six, ${hold}`);
    await world.installation.model.reached(hold);
    world.installation.model.release(hold);
    expect(await world.view.done(count)).toMatchObject({ status: 'delivered' });
  }

  it('warns at 80%, stops at 100%, and lets agents answer again after the owner has raised it', async () => {
    expect(await setBudget({ monthly_cost_micros: BUDGET })).toMatchObject({ state: 'within', cost_micros_used: 0 });
    await answer(1);
    expect(notes()).toEqual([
      expect.stringMatching(/has used 80% of its budget for this month: \$0\.00016 of \$0\.0002\./),
    ]);
    expect((await report('agent')).budget).toMatchObject({ state: 'warning', cost_micros_used: COST_PER_ANSWER });

    // Something is left, so the next call is made: the budget is exceeded by less than this call.
    await answer(2);
    expect(notes()).toHaveLength(1);
    const before = world.installation.model.requests.length;
    const refused = await world.client.api('POST', route(`conversations/${world.client.conversationId}/messages`), {
      content: { type: 'text', text: 'And now?' },
    });
    expect(refused).toMatchObject({
      status: 429,
      body: {
        code: 'token_limit_reached',
        extra: { scope: 'budget', cost_limit_micros: BUDGET, currency: 'USD', resets_at: expect.any(String) },
      },
    });
    expect(world.installation.model.requests).toHaveLength(before);

    await setBudget({ monthly_cost_micros: 1_000_000 });
    await answer(3);
    expect(notes()).toHaveLength(1);
  });

  it('is spent by calls that the report shows by agent, conversation, turn, model and day', async () => {
    await answer(1);
    await answer(2);
    const usage = { model_calls: 2, cost_micros: 2 * COST_PER_ANSWER, unpriced_tokens: 0 };
    for (const by of ['agent', 'conversation', 'model', 'day']) {
      const { groups, total } = await report(by);
      expect({ by, groups, total }).toMatchObject({ by, groups: [{ usage, turn: null }], total: usage });
    }
    expect((await report('model')).groups[0]?.key).toBe('openai/scripted');
    const { groups: turns } = await report('turn');
    const one = { model_calls: 1, prompt_tokens: 40, completion_tokens: 6, cost_micros: COST_PER_ANSWER };
    const turn = { conversation_id: world.client.conversationId, delegated_by: null, total: one };
    expect(turns).toMatchObject([
      { usage: one, turn },
      { usage: one, turn },
    ]);
  });

  it('applies to all models, also without a price, if it is in tokens', async () => {
    await setBudget({ monthly_tokens: 46 });
    await answer(1);
    // One call has used all of it: a warning would come too late.
    expect(notes()).toEqual([
      expect.stringMatching(/^The budget of this workspace \(46 tokens\) for this month is reached\./),
    ]);
    const { body } = await world.client.api('POST', route(`conversations/${world.client.conversationId}/messages`), {
      content: { type: 'text', text: 'And now?' },
    });
    expect(body).toMatchObject({ code: 'token_limit_reached', extra: { scope: 'budget', token_limit: 46 } });
  });
});
