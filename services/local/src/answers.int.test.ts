import { describe, expect, it } from '@jest/globals';
import type { MessageData } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { delegate, isTask, useDelegatingAgents } from '../test/delegating-agents.js';

/** The fields of an event that tell which answer it belongs to. */
interface Belonging {
  turn_id?: string;
  in_reply_to?: string;
  answer_ended?: boolean;
  message?: MessageData;
}

const WAITING = `SELECT FROM turns t JOIN turn_contexts c ON c.turn_id = t.id WHERE t.workspace_id = $1 AND t.status = 'done'`;

describe('a question of a client', () => {
  const world = useDelegatingAgents();
  const { listed, delegations, answer, expectNothingLeft } = world;

  const questionOf = (payload: Belonging): string | undefined => payload.in_reply_to ?? payload.message?.in_reply_to;
  const turnOf = (payload: Belonging): string | undefined => payload.turn_id ?? payload.message?.turn_id;

  /** The events of the answers to a question. */
  const eventsOf = (questionId: string) =>
    world.client.events.filter(({ payload }) => questionOf(payload) === questionId);

  /** Waits for the end of the answers to a question. @returns the index of its event */
  async function answered(questionId: string): Promise<number> {
    const isEnd = (payload: Belonging): boolean => questionOf(payload) === questionId && payload.answer_ended === true;
    await world.client.saw('message.updated', isEnd);
    return world.client.events.findIndex(({ payload }) => isEnd(payload));
  }

  /** The event that ends the answers to a question. */
  const endOf = async (questionId: string) => world.client.events[await answered(questionId)]?.payload;

  const textOf = ({ content }: MessageData): string => ('text' in content ? content.text : content.type);
  const action = (id: string) => `/v1/workspaces/${world.client.workspaceId}/messages/${id}/action`;

  async function askBeforeMemories(): Promise<void> {
    const { body } = await world.client.api('GET', `/v1/workspaces/${world.client.workspaceId}/agents`);
    const manager = (body as { data: { id: string; slug: string }[] }).data.find(({ slug }) => slug === 'manager');
    await world.client.api('PATCH', `/v1/agents/${manager?.id}/tools/memories`, { permission: 'ask' });
  }

  /** Waits until the turn has ended and its agent waits for a decision or a task. */
  const suspended = () =>
    eventually(async () => (await world.services.query(WAITING, [world.client.workspaceId])).length === 1);

  const remember = { toolCalls: [{ name: 'remember', arguments: { key: 'tea', content: 'Tea is green.' } }] };
  const card = () => world.client.shown(({ content }) => content.type === 'action_card');

  it('is answered when its own turn has ended, although a sub-agent ends before and another question is queued', async () => {
    world.behave = (agent, prompt, results) => {
      if (isTask(prompt)) return [{ hold: 'task' }, { text: `Facts of ${agent}.` }];
      if (prompt.includes('Second')) return [{ text: 'Second answer.' }];
      return results.length === 0
        ? [{ text: 'I ask the team.' }, ...delegate('researcher')]
        : [{ text: 'First answer.' }];
    };
    const first = await world.client.send('First');
    await world.model.reached('task');
    const second = await world.client.send('Second');
    await answer('Second answer.');
    expect(eventsOf(first).filter(({ payload }) => payload['answer_ended'])).toEqual([]);
    world.model.release('task');
    const [endOfSecond, endOfFirst] = [await answered(second), await answered(first)];

    expect(endOfSecond).toBeLessThan(endOfFirst);
    expect(world.client.events[endOfFirst]?.payload).toMatchObject({ message: { content: { text: 'First answer.' } } });
    await world.client.saw(
      'message.done',
      (payload: Belonging) => questionOf(payload) === first && payload.answer_ended === true,
    );
    const dones = world.client.events.filter(({ name }) => name === 'message.done').map(({ payload }) => payload);
    expect(dones).toMatchObject([
      { in_reply_to: first, answer_ended: false },
      { in_reply_to: second, answer_ended: true },
      { in_reply_to: first, answer_ended: true },
    ]);
    const [manager, other, continued] = dones.map((payload) => turnOf(payload));
    expect(continued).toBe(manager);
    expect(other).not.toBe(manager);
    await expectNothingLeft();
  });

  it('has the same turn and question in events, lists, searches and the log', async () => {
    world.behave = (agent, prompt, results) => {
      if (isTask(prompt)) return results.length === 0 ? [remember] : [{ text: `Facts of ${agent}.` }];
      return results.length === 0 ? delegate('researcher') : [{ text: 'Together at last.' }];
    };
    const question = await world.client.send('Ask your team');
    await answered(question);
    await expectNothingLeft();

    const messages = await listed();
    const [asked, ...answers] = messages;
    expect(asked).not.toHaveProperty('turn_id');
    expect(asked).not.toHaveProperty('in_reply_to');
    expect(answers.map(({ in_reply_to }) => in_reply_to)).toEqual(answers.map(() => question));
    const reply = answers.find((message) => textOf(message) === 'Together at last.');
    const [task] = await delegations();
    const turnOfTask = answers.find(
      ({ content }) => content.type === 'tool_status' && content.tool === 'remember',
    )?.turn_id;
    expect(task).toMatchObject({ status: 'completed' });
    expect(answers.find(({ id }) => id === task?.id)?.turn_id).toBe(reply?.turn_id);
    expect(turnOfTask).not.toBe(reply?.turn_id);

    const live = (name: string) =>
      eventsOf(question)
        .filter((event) => event.name === name)
        .map(({ payload }) => payload);
    expect(live('agent.delegation')).toMatchObject([{ turn_id: reply?.turn_id }, { turn_id: reply?.turn_id }]);
    expect(new Set(live('message.chunk').map((payload) => payload['turn_id']))).toEqual(new Set([reply?.turn_id]));
    expect(live('agent.tool').map((payload) => payload['turn_id'])).toEqual(
      expect.arrayContaining([turnOfTask, reply?.turn_id]),
    );

    const { api, workspaceId, conversationId } = world.client;
    const path = `/v1/workspaces/${workspaceId}`;
    const belonging = { turn_id: reply?.turn_id, in_reply_to: question };
    expect(await api('GET', `${path}/messages/${reply?.id}`)).toMatchObject({ body: { data: belonging } });
    expect(await api('GET', `${path}/conversations/${conversationId}/messages/search?q=together`)).toMatchObject({
      body: { data: [belonging] },
    });
    const { body } = await api('GET', `${path}/events?since=0`);
    const events = (body as { data: { event: string; payload: Belonging }[] }).data;
    const replayed = events.filter(({ payload }) => questionOf(payload) === question);
    expect(replayed.filter(({ event }) => event === 'message.done')).toMatchObject([
      { payload: { ...belonging, answer_ended: true } },
    ]);
    const unread = replayed.flatMap(({ payload }) => payload.message ?? []);
    expect(new Set(unread.map(({ turn_id }) => turn_id))).toEqual(new Set([reply?.turn_id, turnOfTask]));
  });

  it('is answered when the last of two mentioned agents has answered', async () => {
    world.behave = (agent) => [{ text: `I am ${agent}.` }];
    const { body } = await world.client.api('GET', `/v1/workspaces/${world.client.workspaceId}/agents`);
    const agents = (body as { data: { id: string; name: string; slug: string }[] }).data;
    const mentioned = agents.filter(({ slug }) => ['researcher', 'writer'].includes(slug));
    const text = mentioned.map(({ name }) => `@${name}`).join(' ');
    const mentions = mentioned.map(({ id, name }) => ({
      agent_id: id,
      agent_name: name,
      offset: text.indexOf(`@${name}`),
      length: name.length + 1,
    }));
    const { workspaceId, conversationId } = world.client;
    const sent = await world.client.api(
      'POST',
      `/v1/workspaces/${workspaceId}/conversations/${conversationId}/messages`,
      {
        content: { type: 'text', text },
        mentions,
      },
    );
    const question = (sent.body as { data: MessageData }).data.id;
    await answered(question);
    await expectNothingLeft();
    await world.client.saw('message.done', ({ answer_ended }: Belonging) => answer_ended === true);
    const dones = eventsOf(question).filter(({ name }) => name === 'message.done');
    expect(dones.map(({ payload }) => payload['answer_ended'])).toEqual([false, true]);
    expect(new Set(dones.map(({ payload }) => turnOf(payload))).size).toBe(2);
  });

  it('stays the question of an answer that continues after a decision, and of one that is regenerated then', async () => {
    await askBeforeMemories();
    world.behave = (_agent, _prompt, results) =>
      results.length === 0 ? [{ text: 'May I?' }, remember] : [{ text: 'Saved.' }];
    const question = await world.client.send('Remember that tea is green');
    const asked = await card();
    await world.client.saw('message.done', (payload: Belonging) => questionOf(payload) === question);
    expect(asked).toMatchObject({ in_reply_to: question });
    expect(eventsOf(question).filter(({ payload }) => payload['answer_ended'])).toEqual([]);

    await world.client.api('POST', action(asked.id), { action_id: 'approve' });
    await answered(question);
    await expectNothingLeft();
    const messages = await listed();
    const reply = messages.find((message) => textOf(message) === 'Saved.');
    expect(reply).toMatchObject({ in_reply_to: question, turn_id: asked.turn_id });
    expect(messages.filter(({ role }) => role === 'user').map(({ in_reply_to }) => in_reply_to)).toEqual([
      undefined,
      undefined,
    ]);

    world.behave = () => [{ text: 'Saved again.' }];
    await world.client.api('POST', `/v1/workspaces/${world.client.workspaceId}/messages/${reply?.id}/regenerate`);
    const again = await world.client.shown((message) => textOf(message) === 'Saved again.');
    expect(again).toMatchObject({ in_reply_to: question });
    expect(again.turn_id).not.toBe(reply?.turn_id);
    await world.client.saw(
      'message.done',
      (payload: Belonging) => turnOf(payload) === again.turn_id && payload.answer_ended === true,
    );
  });

  it('is answered when it waits for a decision and the user sends another message', async () => {
    await askBeforeMemories();
    world.behave = (_agent, prompt, results) =>
      results.length === 0 && !prompt.endsWith('Never mind') ? [remember] : [{ text: 'Fine.' }];
    const question = await world.client.send('Remember that tea is green');
    await card();
    await suspended();
    await world.client.send('Never mind');
    expect(await endOf(question)).toMatchObject({ message: { content: { type: 'action_card' } } });
    await expectNothingLeft();
  });

  it('is answered when it waits for a task and the user stops the answer', async () => {
    world.behave = (_agent, prompt) => (isTask(prompt) ? [{ hold: 'stopped' }, { text: 'Late.' }] : delegate('writer'));
    const question = await world.client.send('Ask your team');
    await world.model.reached('stopped');
    await suspended();
    await world.client.api('POST', `/v1/workspaces/${world.client.workspaceId}/messages/${question}/stop`);
    expect(await endOf(question)).toMatchObject({ message: { content: { type: 'delegation', status: 'failed' } } });
    await expectNothingLeft();
  });
});
