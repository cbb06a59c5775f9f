import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ModelServerRequest } from '@uswarm/dev-servers';
import type { TestClient } from '@uswarm/testkit/test-client';
import {
  type Installation,
  setPlan,
  textOf,
  TOKENS_PER_CALL,
  viewOf,
  withGateway,
  withoutGateway,
} from '../test/budgeted-turns.js';
import type { SeparateServices } from '../test/separate.js';

describe.each([
  ['with a model gateway', withGateway],
  ['without a model gateway', withoutGateway],
])('the budget of a turn, %s', (_how, start) => {
  let installation: Installation;
  let client: TestClient;
  let view: ReturnType<typeof viewOf>;
  beforeAll(async () => {
    installation = await start();
  });
  beforeEach(async () => {
    client = await installation.newClient();
    view = viewOf(client);
  });
  afterEach(() => client?.close());
  afterAll(() => installation?.close());

  it('invariant 9: asks with a card when it is spent, and continues each time that the user grants it again', async () => {
    const { model } = installation;
    const before = model.requests.length;
    await client.send('Remember some facts');
    const first = await view.card(1);
    expect(first.content).toMatchObject({
      title: 'This answer has used 1,100 tokens. Continue?',
      actions: [{ label: 'Continue' }, { label: 'Stop' }],
    });
    expect(await view.done(1)).toMatchObject({ status: 'delivered', content: { text: 'Part 0. ' } });
    expect(model.requests).toHaveLength(before + 1);
    expect(await view.tokensUsed()).toBe(TOKENS_PER_CALL);
    expect((await view.agents()).map(({ status }) => status)).toContain('pending');

    expect((await view.choose(first, 'continue')).status).toBe(200);
    // The whole counts: the second budget begins after the tokens of the first reply.
    const second = await view.card(2);
    expect(second.content.title).toBe('This answer has used 2,200 tokens. Continue?');
    expect(textOf(await view.done(2))).toBe('Part 1. ');
    expect(model.requests).toHaveLength(before + 2);

    expect((await view.choose(second, 'continue')).status).toBe(200);
    expect(textOf(await view.done(3))).toBe('Part 2. The end.');
    expect(await view.tokensUsed()).toBe(3 * TOKENS_PER_CALL);
    const sent = model.requests.slice(before).map(({ body }) => (body as ModelServerRequest).messages);
    for (const [index, messages] of sent.slice(1).entries()) {
      expect(messages.slice(0, sent[index]!.length)).toEqual(sent[index]);
    }
  });

  it('ends the answer with what it has if the user stops it', async () => {
    const { model } = installation;
    await client.send('Remember some facts');
    const card = await view.card(1);
    await view.done(1);
    const before = model.requests.length;
    expect((await view.choose(card, 'stop')).status).toBe(200);
    await client.saw('agent.status', ({ status }: { status: string }) => status === 'online');
    expect((await view.agents()).map(({ status }) => status)).not.toContain('pending');
    expect((await view.choose(card, 'continue')).status).toBe(409);

    await client.send('Something else');
    await view.card(2);
    // The new turn starts from the beginning, with its own budget.
    expect(model.requests).toHaveLength(before + 1);
    expect(await view.tokensUsed()).toBe(2 * TOKENS_PER_CALL);
  });

  it('is closed by another message', async () => {
    await client.send('Remember some facts');
    const card = await view.card(1);
    await view.done(1);
    await client.send('Something else');
    await view.card(2);
    expect((await view.choose(card, 'continue')).status).toBe(404);
  });
});

describe('the limits of a turn without a model gateway', () => {
  let installation: Awaited<ReturnType<typeof withoutGateway>>;
  let services: SeparateServices;
  let client: TestClient;
  let view: ReturnType<typeof viewOf>;
  beforeAll(async () => {
    installation = await withoutGateway();
    ({ services } = installation);
  });
  beforeEach(async () => {
    client = await installation.newClient();
    view = viewOf(client);
  });
  afterEach(() => client?.close());
  afterAll(() => installation?.close());

  it('end it with the documented message, and without a card, if the limit of the month is reached in its middle', async () => {
    await setPlan(services, client, 'small');
    const before = installation.model.requests.length;
    await client.send('Remember some facts');
    const reply = await view.done(1);
    expect(reply).toMatchObject({ status: 'incomplete', error: { code: 'token_limit_reached' } });
    expect(textOf(reply)).toBe('Part 0. ');
    expect(view.cards()).toEqual([]);
    expect(installation.model.requests).toHaveLength(before + 1);
  });

  it('count the tokens before an approval, so that the turn asks again after it', async () => {
    for (const { id } of await view.agents()) {
      await client.api('PATCH', `/v1/agents/${id}/tools/memories`, { permission: 'ask' });
    }
    await client.send('Remember some facts');
    const approval = await view.card(1);
    expect(approval.content.title).toContain('Approve?');
    await view.done(1);
    await view.choose(approval, 'approve');
    const card = await view.card(2);
    expect(card.content.title).toBe('This answer has used 1,100 tokens. Continue?');
    const [sum] = await services.query<{ turns: number; calls: number }>(
      `SELECT count(DISTINCT turn_id)::int AS turns, count(*)::int AS calls FROM usage_entries WHERE workspace_id = $1`,
      [client.workspaceId],
    );
    expect(sum).toEqual({ turns: 1, calls: 1 });
  });

  it('leave nothing of a waiting turn that the user stopped', async () => {
    await client.send('Remember some facts');
    const card = await view.card(1);
    await view.done(1);
    const kept = () =>
      services.query(
        `SELECT c.turn_id FROM turn_contexts c JOIN turns t ON t.id = c.turn_id WHERE t.workspace_id = $1`,
        [client.workspaceId],
      );
    const jobs = () =>
      services.query(`SELECT FROM work WHERE kind = 'turn' AND workspace_id = $1`, [client.workspaceId]);
    expect(await jobs()).toEqual([]);
    expect(await kept()).not.toEqual([]);
    await view.choose(card, 'stop');
    expect(await jobs()).toEqual([]);
    expect(await kept()).toEqual([]);
  });
});
