import { describe, expect, it } from '@jest/globals';
import type { ModelServerRequest } from '@uswarm/dev-servers';
import {
  setPlan,
  textOf,
  TOKENS_PER_CALL,
  useInstallation,
  withGateway,
  withoutGateway,
} from '../test/budgeted-turns.js';

describe.each([
  ['with a model gateway', withGateway],
  ['without a model gateway', withoutGateway],
])('the budget of a turn, %s', (_how, start) => {
  const world = useInstallation(start);

  it('invariant 9: asks with a card when it is spent, and continues each time that the user grants it again', async () => {
    const { model } = world.installation;
    const before = model.requests.length;
    await world.client.send('Remember some facts');
    const first = await world.view.card(1);
    expect(first.content).toMatchObject({
      title: 'This answer has used 1,100 tokens. Continue?',
      actions: [{ label: 'Continue' }, { label: 'Stop' }],
    });
    expect(await world.view.done(1)).toMatchObject({ status: 'delivered', content: { text: 'Part 0. ' } });
    expect(model.requests).toHaveLength(before + 1);
    expect(await world.view.tokensUsed()).toBe(TOKENS_PER_CALL);
    expect((await world.view.agents()).map(({ status }) => status)).toContain('pending');

    expect((await world.view.choose(first, 'continue')).status).toBe(200);
    // The whole counts: the second budget begins after the first reply's tokens.
    const second = await world.view.card(2);
    expect(second.content.title).toBe('This answer has used 2,200 tokens. Continue?');
    expect(textOf(await world.view.done(2))).toBe('Part 1. ');
    expect(model.requests).toHaveLength(before + 2);

    expect((await world.view.choose(second, 'continue')).status).toBe(200);
    expect(textOf(await world.view.done(3))).toBe('Part 2. The end.');
    expect(await world.view.tokensUsed()).toBe(3 * TOKENS_PER_CALL);
    const sent = model.requests.slice(before).map(({ body }) => (body as ModelServerRequest).messages);
    for (const [index, messages] of sent.slice(1).entries()) {
      expect(messages.slice(0, sent[index]!.length)).toEqual(sent[index]);
    }
  });

  it('ends the answer with what it has if the user stops it', async () => {
    const { model } = world.installation;
    await world.client.send('Remember some facts');
    const card = await world.view.card(1);
    await world.view.done(1);
    const before = model.requests.length;
    expect((await world.view.choose(card, 'stop')).status).toBe(200);
    await world.client.saw('agent.status', ({ status }: { status: string }) => status === 'online');
    expect((await world.view.agents()).map(({ status }) => status)).not.toContain('pending');
    expect((await world.view.choose(card, 'continue')).status).toBe(409);

    await world.client.send('Something else');
    await world.view.card(2);
    // The new turn starts from the beginning, with its own budget.
    expect(model.requests).toHaveLength(before + 1);
    expect(await world.view.tokensUsed()).toBe(2 * TOKENS_PER_CALL);
  });

  it('is closed by another message', async () => {
    await world.client.send('Remember some facts');
    const card = await world.view.card(1);
    await world.view.done(1);
    await world.client.send('Something else');
    await world.view.card(2);
    expect((await world.view.choose(card, 'continue')).status).toBe(404);
  });
});

describe('the limits of a turn without a model gateway', () => {
  const world = useInstallation(withoutGateway);

  it('end it with the documented message, and without a card, if the limit of the month is reached in its middle', async () => {
    await setPlan(world.installation.services, world.client, 'small');
    const before = world.installation.model.requests.length;
    await world.client.send('Remember some facts');
    const reply = await world.view.done(1);
    expect(reply).toMatchObject({ extended_status: 'incomplete', error: { code: 'token_limit_reached' } });
    expect(textOf(reply)).toBe('Part 0. ');
    expect(world.view.cards()).toEqual([]);
    expect(world.installation.model.requests).toHaveLength(before + 1);
  });

  it('count the tokens before an approval, so that the turn asks again after it', async () => {
    for (const { id } of await world.view.agents()) {
      await world.client.api('PATCH', `/v1/agents/${id}/tools/memories`, { permission: 'ask' });
    }
    await world.client.send('Remember some facts');
    const approval = await world.view.card(1);
    expect(approval.content.title).toContain('Approve?');
    await world.view.done(1);
    await world.view.choose(approval, 'approve');
    const card = await world.view.card(2);
    expect(card.content.title).toBe('This answer has used 1,100 tokens. Continue?');
    const [sum] = await world.installation.services.query<{ turns: number; calls: number }>(
      `SELECT count(DISTINCT turn_id)::int AS turns, count(*)::int AS calls FROM usage_entries WHERE workspace_id = $1`,
      [world.client.workspaceId],
    );
    expect(sum).toEqual({ turns: 1, calls: 1 });
  });

  it('leave nothing of a waiting turn that the user stopped', async () => {
    await world.client.send('Remember some facts');
    const card = await world.view.card(1);
    await world.view.done(1);
    const kept = () =>
      world.installation.services.query(
        `SELECT c.turn_id FROM turn_contexts c JOIN turns t ON t.id = c.turn_id WHERE t.workspace_id = $1`,
        [world.client.workspaceId],
      );
    const jobs = () =>
      world.installation.services.query(`SELECT FROM work WHERE kind = 'turn' AND workspace_id = $1`, [
        world.client.workspaceId,
      ]);
    expect(await jobs()).toEqual([]);
    expect(await kept()).not.toEqual([]);
    await world.view.choose(card, 'stop');
    expect(await jobs()).toEqual([]);
    expect(await kept()).toEqual([]);
  });
});
