import { describe, expect, it } from '@jest/globals';
import type { MessageData, MessagePage } from '@uswarm/contract';
import { sql } from 'kysely';
import { ASKED } from '../../../test/message-client.js';
import { useTurnFixture } from '../../../test/turn-fixture.js';
import { approvalsOf } from '../../../test/stores.js';
import { TURN_CONTEXT } from '../../../test/turn-context.js';
import { createWithTransaction } from '../../platform/database/transaction.js';
import type { FinishedReply } from '../writer/turn-ending.js';
import { approvalCard, callHash } from '../../records/approval-card.js';
import { findTurnContext } from '../request/turn-contexts.store.js';
import { findToolCall } from '../tools/tool-calls.store.js';
import { resumeTurn, getTurn } from '../turns.store.js';

const FAILED: FinishedReply = {
  turnStatus: 'failed',
  messageStatus: 'failed',
  text: 'Lost.',
  errorCode: 'runtime_lost',
};
const WITHDRAWN = { extended_status: 'failed', error: { code: 'withdrawn' } };

describe('approvals of a turn that can no longer continue', () => {
  const world = useTurnFixture();
  const page = () => world.user.get<MessagePage>(`${world.home.messages}?direction=forward`);
  const cards = async () => (await page()).body.data.filter(({ content }) => content.type === 'action_card');
  const pathOf = (id: string) => `${world.home.workspace}/messages/${id}`;
  const choose = (card: MessageData, action_id = 'approve') =>
    world.user.post(`${pathOf(card.id)}/action`, { action_id }, 200);
  const refused = (card: MessageData) =>
    world.user.refusal('POST', `${pathOf(card.id)}/action`, { action_id: 'approve' });
  const remove = ({ id }: { id: string }) => world.user.delete(pathOf(id), undefined, 204);
  const activity = async () => {
    const id = world.home.agents[0]!.id;
    return (await world.uswarm.database.selectFrom('agents').select('activity').where('id', '=', id).executeTakeFirst())
      ?.activity;
  };
  const updatesOf = async ({ id }: MessageData) =>
    world.uswarm.database
      .selectFrom('workspace_events')
      .select('seq')
      .where('subject_id', '=', id)
      .where('type', '=', 'message.updated')
      .execute();
  const kept = async () => {
    const { rows } = await sql<{ turn: string }>`
      SELECT turn_id FROM turn_contexts c JOIN turns t ON t.id = c.turn_id WHERE t.workspace_id = ${world.home.workspaceId}
      UNION ALL SELECT turn_id FROM tool_calls c JOIN turns t ON t.id = c.turn_id WHERE t.workspace_id = ${world.home.workspaceId}`.execute(
      world.uswarm.database,
    );
    return rows.length;
  };
  const expire = async () => {
    await sql`UPDATE tool_approvals SET expires_at = now() - interval '1 minute' WHERE status = 'open' AND card_message_id = (
      SELECT card_message_id FROM tool_approvals WHERE status = 'open' ORDER BY card_message_id DESC LIMIT 1)`.execute(
      world.uswarm.database,
    );
    const approvals = approvalsOf(world.turnWorker.stores);
    while (await createWithTransaction(world.uswarm.database)((tx) => approvals.expireNext(tx)));
  };

  const send = async (text = 'go') => {
    const body = { content: { type: 'text', text } };
    return (await world.user.post<{ data: MessageData }>(world.home.messages, body, 201)).body.data;
  };
  const begin = async () => {
    const writer = await world.turnWorker.writerOf(await world.turnWorker.claim());
    await writer.begin();
    return writer;
  };
  /** The turn executed one call and waits for the user to approve others. */
  async function suspended(calls = ['c1', 'c2']) {
    const userMessage = await send();
    const writer = await begin();
    await writer.setInstance({ instance: { id: 'i', budgeted: false, context: TURN_CONTEXT }, untrusted: [] });
    await writer.entry(1, { number: 1, kind: 'step', body: '{}' });
    const executed = { id: 'c0', tool: 'remember', description: '', stoppable: true };
    await writer.call(executed, async () => ({ text: 'saved', failed: false }));
    for (const id of calls) {
      const card = approvalCard({ title: id, changes: [] }, ASKED);
      await writer.ask({
        id,
        tool: 'send',
        argumentsHash: callHash('send', id),
        card,
        key: undefined,
        integrationId: undefined,
      });
    }
    expect(await writer.suspend('I ask.', calls)).toBeDefined();
    const [one, other] = await cards();
    return { userMessage, cards: [one!, other!] as const };
  }
  /** Approves and executes the first call, and waits for the second. */
  async function secondWait() {
    const asked = await suspended();
    await choose(asked.cards[0]);
    const decision = (await page()).body.data.findLast(({ role }) => role === 'user')!;
    const writer = await begin();
    const executed = { id: 'c1', tool: 'send', description: '', stoppable: true };
    await writer.call(executed, async () => ({ text: 'sent', failed: false }));
    expect(await writer.suspend('I wait.', ['c2'])).toBeDefined();
    expect(await activity()).toBe('pending');
    return { ...asked, decision };
  }

  it('are all closed, with their cards, if the user deletes the card of one, so that no call is repeated', async () => {
    const { cards: asked } = await suspended();
    const before = (await updatesOf(asked[1])).length;
    await remove(asked[0]);
    expect(await cards()).toMatchObject([{ id: asked[1].id, ...WITHDRAWN }]);
    expect((await updatesOf(asked[1])).length).toBeGreaterThan(before);
    expect(await refused(asked[1])).toBe('action_not_found');
    expect(await kept()).toBe(0);
    expect(await activity()).toBe('online');
  });

  it('are all closed if one expires, although the others expire later', async () => {
    const { cards: asked } = await suspended();
    await expire();
    expect(await cards()).toMatchObject([WITHDRAWN, WITHDRAWN]);
    expect(await refused(asked[0])).toBe('action_not_found');
    expect(await kept()).toBe(0);
  });

  it('let the agent no longer wait after they expired or were superseded', async () => {
    await suspended(['c1']);
    expect(await activity()).toBe('pending');
    await expire();
    expect(await activity()).toBe('online');
  });

  it('let the agent no longer wait if another agent gets the next message', async () => {
    await suspended(['c1']);
    const [, other] = world.home.agents;
    const mentions = [{ agent_id: other!.id, agent_name: '', offset: 0, length: 1 }];
    await world.user.post(world.home.messages, { content: { type: 'text', text: 'hi' }, mentions }, 201);
    expect(await cards()).toMatchObject([WITHDRAWN]);
    expect(await activity()).toBe('online');
  });

  it('keep what the turn needs if the user deletes the card of a call that was executed', async () => {
    const { cards: asked } = await secondWait();
    const before = await kept();
    await remove(asked[0]);
    expect(await kept()).toBe(before);
    await choose(asked[1]);
    const turn = await world.turnWorker.turnOf(await world.turnWorker.claim());
    expect(turn).toMatchObject({ shown_entries: 1 });
    expect(await findTurnContext(world.turnWorker.stores.database, turn.id)).toBeDefined();
    expect(await findToolCall(world.uswarm.database, turn.id, 'c1')).toBeDefined();
  });

  it('are closed with their cards if the message of the user is deleted', async () => {
    const { userMessage } = await suspended(['c1']);
    await remove(userMessage);
    expect(await cards()).toMatchObject([WITHDRAWN]);
    expect(await activity()).toBe('online');
  });

  it.each(['tool_status', 'text'])(
    'keep what the turn needs if the user deletes another message of it: %s',
    async (type) => {
      const { cards: asked } = await suspended(['c1']);
      const other = (await page()).body.data.find(({ role, content }) => role === 'agent' && content.type === type)!;
      await remove(other);
      await choose(asked[0]);
      const turn = await world.turnWorker.turnOf(await world.turnWorker.claim());
      expect(turn).toMatchObject({ shown_entries: 1 });
      expect(await findToolCall(world.uswarm.database, turn.id, 'c0')).toBeDefined();
    },
  );

  it('are closed with their cards if the message of the user is deleted after the turn continued', async () => {
    const { userMessage } = await secondWait();
    await remove(userMessage);
    expect((await cards())[1]).toMatchObject(WITHDRAWN);
    expect(await activity()).toBe('online');
  });

  it('are closed with their cards if the decision with which the turn continued is deleted', async () => {
    const { decision } = await secondWait();
    await remove(decision);
    expect((await cards())[1]).toMatchObject(WITHDRAWN);
    expect(await activity()).toBe('online');
  });

  it('are deleted with their cards if the reply that waits for them is regenerated', async () => {
    const { cards: asked, decision } = await secondWait();
    const reply = (await page()).body.data.findLast(
      ({ role, content }) => role === 'agent' && content.type === 'text',
    )!;
    await world.user.post(`${pathOf(reply.id)}/regenerate`, undefined, 200);
    const left = (await page()).body.data.map(({ id }) => id);
    expect(left).toContain(decision.id);
    expect(left).not.toContain(asked[1].id);
  });

  it('cannot be given for a turn that has no context, which would start from the beginning', async () => {
    const { cards: asked } = await suspended(['c1']);
    await world.uswarm.database.deleteFrom('turn_contexts').execute();
    expect(await refused(asked[0])).toBe('approval_closed');
    const { id } = await world.uswarm.database.selectFrom('turns').select('id').limit(1).executeTakeFirstOrThrow();
    await expect(resumeTurn(world.uswarm.database, id, id)).rejects.toThrow('no context');
  });

  it('cannot be given with a card whose approval disappeared', async () => {
    const { cards: asked } = await suspended(['c1']);
    await world.uswarm.database.deleteFrom('tool_approvals').execute();
    expect(await refused(asked[0])).toBe('approval_closed');
  });

  it('are closed by the database if another statement deletes the card of one', async () => {
    const { cards: asked } = await suspended();
    await world.uswarm.database.deleteFrom('messages').where('id', '=', asked[0].id).execute();
    expect(await kept()).toBe(0);
    expect(await refused(asked[1])).toBe('approval_closed');
  });

  it('do not look approved if the turn fails before it executes the call, and its reply can be regenerated', async () => {
    const { cards: asked } = await suspended();
    await choose(asked[0]);
    const writer = await begin();
    // The turn is running, so no other turn is queued for this decision.
    await choose(asked[1]);
    await writer.finish(FAILED);
    expect(await cards()).toMatchObject([WITHDRAWN, WITHDRAWN]);
    const reply = (await page()).body.data.findLast(
      ({ role, content }) => role === 'agent' && content.type === 'text',
    )!;
    await world.user.post(`${pathOf(reply.id)}/regenerate`, undefined, 200);
  });

  it('continue a turn that fails like others after two generations without a new entry', async () => {
    const { cards: asked } = await suspended(['c1']);
    await choose(asked[0]);
    const writer = await begin();
    expect([await writer.nextGeneration(2), await writer.nextGeneration(2)]).toEqual([2, undefined]);
  });

  it('are followed by a reply that counts calls since the first message as repeated when it is regenerated', async () => {
    const { userMessage, cards: asked } = await suspended(['c1']);
    await choose(asked[0], 'deny');
    for (const round of ['first', 'second']) {
      const writer = await begin();
      await writer.finish({ turnStatus: 'done', messageStatus: 'delivered', text: round, errorCode: null });
      const reply = (await page()).body.data.findLast(({ role }) => role === 'agent')!;
      await world.user.post(`${pathOf(reply.id)}/regenerate`, undefined, 200);
      const [regenerated] = await world.uswarm.database
        .selectFrom('turns')
        .select('id')
        .where('status', '=', 'queued')
        .where('workspace_id', '=', world.home.workspaceId)
        .execute();
      expect(await getTurn(world.turnWorker.stores.database, regenerated!.id)).toMatchObject({
        resumes_message_id: null,
        repeats_from_message_id: userMessage.id,
      });
    }
  });

  it('keep the card of an executed call as approved if the turn fails later', async () => {
    const { cards: asked } = await suspended();
    await choose(asked[0]);
    const writer = await begin();
    const executed = { id: 'c1', tool: 'send', description: '', stoppable: true };
    await writer.call(executed, async () => ({ text: 'sent', failed: false }));
    await writer.finish(FAILED);
    expect(await cards()).toMatchObject([{ content: { selected_action_id: 'approve' } }, WITHDRAWN]);
    expect((await cards())[0]).not.toMatchObject(WITHDRAWN);
  });

  it('keep the card of an executed call as approved if the reply after it is regenerated', async () => {
    const { cards: asked } = await suspended(['c1']);
    await choose(asked[0]);
    const writer = await begin();
    const executed = { id: 'c1', tool: 'send', description: '', stoppable: true };
    await writer.call(executed, async () => ({ text: 'sent', failed: false }));
    await writer.finish({ turnStatus: 'done', messageStatus: 'delivered', text: 'Done.', errorCode: null });
    const reply = (await page()).body.data.findLast(
      ({ role, content }) => role === 'agent' && content.type === 'text',
    )!;
    await world.user.post(`${pathOf(reply.id)}/regenerate`, undefined, 200);
    expect((await cards())[0]).toMatchObject({ content: { selected_action_id: 'approve' }, error: null });
  });

  it('do not look approved if the continued turn is deleted before it executes the call', async () => {
    const { cards: asked } = await suspended(['c1']);
    await choose(asked[0]);
    const decision = (await page()).body.data.findLast(({ role }) => role === 'user')!;
    await begin();
    await remove(decision);
    expect(await cards()).toMatchObject([WITHDRAWN]);
  });

  it('do not leave the agent waiting if the turn ends without waiting for them', async () => {
    await send();
    const writer = await begin();
    const card = approvalCard({ title: 'c1', changes: [] }, ASKED);
    await writer.ask({
      id: 'c1',
      tool: 'send',
      argumentsHash: callHash('send', 1),
      card,
      key: undefined,
      integrationId: undefined,
    });
    await writer.finish({ turnStatus: 'done', messageStatus: 'delivered', text: 'Done.', errorCode: null });
    expect(await cards()).toMatchObject([WITHDRAWN]);
    expect(await activity()).toBe('online');
  });
});
