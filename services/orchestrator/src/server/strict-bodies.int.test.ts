import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ADMIN_CALLS, type AdminCall, type AgentTool, type ErrorBody, type WorkspaceBudget } from '@uswarm/contract';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../test/test-orchestrator.js';

describe('a body that sets limits or permissions', () => {
  let uswarm: TestOrchestrator;
  let user: TestUser;
  let home: Home;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
    user = await uswarm.user();
    home = await uswarm.home(user);
  });
  afterAll(() => uswarm.close());

  const refusal = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await user.raw<ErrorBody>({ method: 'PATCH', path, headers, body: JSON.stringify(body) });
    return { status: answer.status, code: answer.body.code, message: JSON.stringify(answer.body.extra) };
  };

  it.each([
    { token_limit: 0 },
    { monthly_token: 0 },
    { monthlyTokens: 0 },
    { monthly_tokens: 5, monthly_cost: 5 },
    { data: { monthly_tokens: 0 } },
    { Monthly_tokens: 0 },
  ])('refuses a budget with a misspelled field, and keeps the budget: %j', async (body) => {
    const path = `${home.workspace}/budget`;
    await user.patch(path, { monthly_tokens: 1_000 }, 200);
    const { status, code, message } = await refusal(path, body);
    expect({ status, code }).toEqual({ status: 400, code: 'validation_failed' });
    // The developer must find the typo.
    expect(message).toContain(Object.keys(body).at(-1));
    const { data } = (await user.get<{ data: WorkspaceBudget }>(path)).body;
    expect(data.monthly_tokens).toBe(1_000);
  });

  it('refuses a tool setting with a misspelled field, and keeps the setting', async () => {
    const path = `/v1/agents/${home.agents[0]?.id}/tools`;
    const { data } = (await user.get<{ data: AgentTool[] }>(path)).body;
    const tool = data.find(({ permission }) => permission !== null && permission !== undefined) ?? data[0];
    for (const body of [{ permissions: 'deny' }, { enabled: true, permision: 'deny' }, { enable: false }]) {
      const { status, code } = await refusal(`${path}/${tool?.name}`, body);
      expect({ body, status, code }).toEqual({ body, status: 400, code: 'validation_failed' });
    }
    expect((await user.get<{ data: AgentTool[] }>(path)).body.data).toEqual(data);
  });

  it('differs from other bodies, whose unknown fields are ignored', async () => {
    const { status } = await user.patch(home.workspace, { name: 'Home', colour: 'red' }, 200);
    expect(status).toBe(200);
  });
});

it.each(Object.keys(ADMIN_CALLS) as AdminCall[])(
  'a call of an operator with an unknown field is refused: %s',
  (call) => {
    const { error } = ADMIN_CALLS[call].body.safeParse({ unknown: 1 });
    expect(error?.issues.map(({ code }) => code)).toContain('unrecognized_keys');
  },
);
