import { describe, expect, it } from '@jest/globals';
import { END, createMessageClient } from '../../test/message-client.js';
import { allRows } from '../../test/database-rows.js';
import { useTurnFixture } from '../../test/turn-fixture.js';
import { loadHistory } from '../turns/turns.store.js';
import { recordCall } from '../records/usage-rows.js';

const world = useTurnFixture();
const { pathOf, say, listed, begin, regenerate, regenerateRefusal, ids, events, queued, answered } =
  createMessageClient(world);

describe('POST /v1/workspaces/{workspaceId}/messages/{id}/regenerate', () => {
  it.each([
    ['finished', END],
    ['failed', { turnStatus: 'failed', messageStatus: 'failed', text: 'No.', errorCode: 'internal_error' }],
    ['stopped', { turnStatus: 'stopped', messageStatus: 'incomplete', text: 'Bec', errorCode: null }],
  ] as const)('deletes the messages of a %s turn and starts another turn of the same agent', async (_title, end) => {
    const { userMessage, reply } = await answered('why?', end);
    const before = await ids();
    const data = await regenerate(reply);
    expect(data).toMatchObject({
      id: userMessage,
      extended_status: 'sent',
      content: { text: 'why?' },
      edited_at: null,
    });
    expect(await ids()).toEqual([userMessage]);
    expect(await queued()).toEqual([{ userMessage, agent: world.home.agents[0]?.id, status: 'queued' }]);
    const told = await events();
    const deleted = told.filter(({ event }) => event === 'message.deleted').map(({ payload }) => payload['message_id']);
    expect(deleted.toSorted()).toEqual(before.filter((id) => id !== userMessage).toSorted());
    expect(told.slice(-3).map(({ event }) => event)).toEqual([
      'message.updated',
      'conversation.updated',
      'workspace.updated',
    ]);
  });

  it('gives the agent the same history as the first time', async () => {
    await answered('before');
    const { userMessage, reply } = await answered('why?');
    await regenerate(reply);
    const turn = {
      conversation_id: world.home.conversationId,
      user_message_id: userMessage,
      agent_id: world.home.agents[0]?.id ?? '',
    };
    const history = await loadHistory(world.turnWorker.stores.database, turn, 50);
    expect(history.map(({ id }) => id)).not.toContain(reply);
    expect(history[0]?.id).toBe(userMessage);
  });

  it('lists the new agent message after the user message', async () => {
    const { userMessage, reply } = await answered('why?');
    await regenerate(reply);
    const { writer, replyId } = await begin();
    await writer.finish({ ...END, text: 'Therefore.' });
    expect(await ids()).toEqual([userMessage, replyId]);
    expect((await listed())[1]).toMatchObject({ content: { text: 'Therefore.' } });
  });

  it('starts a turn of the agent that answered', async () => {
    const agent = world.home.agents[1];
    const text = `@${agent?.name} why?`;
    const mentions = [{ agent_id: agent?.id, agent_name: agent?.name, offset: 0, length: 2 }];
    await say(text, { mentions });
    const { writer, replyId } = await begin();
    await writer.finish(END);
    await regenerate(replyId);
    expect((await queued()).map((turn) => turn.agent)).toEqual([agent?.id]);
  });

  it('rejects an agent message with turn_running while its turn runs', async () => {
    await say('why?');
    const { replyId } = await begin();
    const before = await allRows(world.uswarm.database);
    expect(await regenerateRefusal(replyId)).toBe('turn_running');
    expect(await allRows(world.uswarm.database)).toEqual(before);
  });

  it('rejects an agent message with message_not_latest after the user sent another one', async () => {
    const { reply } = await answered('one');
    await say('two');
    const before = await allRows(world.uswarm.database);
    expect(await regenerateRefusal(reply)).toBe('message_not_latest');
    expect(await allRows(world.uswarm.database)).toEqual(before);
  });

  it('rejects a user message, a card and a tool line with message_not_an_answer', async () => {
    await answered('why?');
    const others = (await listed()).filter(({ role, content }) => role !== 'agent' || content.type !== 'text');
    expect(others.length).toBe(4);
    for (const { id } of others) expect(await regenerateRefusal(id)).toBe('message_not_an_answer');
  });

  it('returns message_not_found for an unknown id and for a message of another user', async () => {
    const { reply } = await answered('why?');
    const other = await world.uswarm.user();
    const home = await world.uswarm.home(other);
    expect(await regenerateRefusal(crypto.randomUUID())).toBe('message_not_found');
    const path = `${home.workspace}/messages/${reply}/regenerate`;
    expect(await other.refusal('POST', path)).toBe('message_not_found');
  });

  it('removes nothing when the token limit is reached', async () => {
    const { reply } = await answered('why?');
    const [turn] = await world.uswarm.database
      .selectFrom('turns as t')
      .innerJoin('workspaces as w', 'w.id', 't.workspace_id')
      .select(['t.id', 't.agent_id', 't.conversation_id', 'w.owner_id'])
      .where('t.reply_message_id', '=', reply)
      .execute();
    const entry = {
      turnId: turn?.id ?? '',
      step: 1,
      userId: turn?.owner_id ?? '',
      workspaceId: world.home.workspaceId,
      conversationId: turn?.conversation_id ?? '',
      agentId: turn?.agent_id ?? '',
      modelId: null,
      prices: null,
    };
    const used = {
      ...entry,
      provider: 'p',
      model: 'm',
      promptTokens: 1e9,
      completionTokens: 1,
      cachedTokens: 0,
      reasoningTokens: 0,
      estimated: false,
    };
    await recordCall(world.uswarm.database, used);
    const before = await allRows(world.uswarm.database);
    expect(await regenerateRefusal(reply)).toBe('token_limit_reached');
    expect(await allRows(world.uswarm.database)).toEqual(before);
  });

  it('regenerates once when ten requests arrive concurrently', async () => {
    const { reply } = await answered('why?');
    const answers = await Promise.all(
      Array.from({ length: 10 }, () =>
        world.user.raw<{ code?: string }>({ method: 'POST', path: `${pathOf(reply)}/regenerate` }),
      ),
    );
    const outcomes = answers.map(({ status, body }) => body?.code ?? status);
    expect(outcomes.filter((outcome) => outcome === 200)).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'message_not_found')).toHaveLength(9);
    expect(await queued()).toHaveLength(1);
  });
});
