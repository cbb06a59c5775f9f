import { describe, expect, it } from '@jest/globals';
import { type AgentSummary, LIMITS, type MessageData, type MessagePage } from '@uswarm/contract';
import { useTurnFixture } from '../../test/turn-fixture.js';
import { TURN_JOB } from '../records/turn-job.js';
import { loadHistory, isStopRequested } from './turns.store.js';

const DONE = { turnStatus: 'done', messageStatus: 'delivered', errorCode: null } as const;

describe('a message that mentions several agents', () => {
  const world = useTurnFixture();

  const agents = (): [AgentSummary, AgentSummary] => [world.home.agents[2]!, world.home.agents[1]!];
  const draft = () => {
    const [first, second] = agents();
    const text = `@${first.name} @${second.name} @${first.name} why?`;
    const mentions = [first, second, first].map(({ id }, n) => ({ agent_id: id, offset: n, length: 1 }));
    return { content: { type: 'text', text }, mentions };
  };
  const ask = async () => (await world.user.post<{ data: MessageData }>(world.home.messages, draft(), 201)).body.data;
  const list = async () => (await world.user.get<MessagePage>(`${world.home.messages}?direction=forward`)).body.data;
  const shown = ({ agent, extended_status, content }: MessageData) => [
    agent?.id ?? 'user',
    extended_status,
    content.type === 'text' && agent !== null ? content.text : content.type,
  ];
  const claimed = async () => {
    const work = await world.turnWorker.claim();
    const writer = await world.turnWorker.writerOf(work);
    await writer.begin();
    return { work, writer };
  };
  const stop = (id: string) => world.user.post(`${world.home.workspace}/messages/${id}/stop`, undefined, 204);

  it('starts one turn per agent, and they run sequentially in the order of the mentions', async () => {
    await ask();
    const [first, second] = agents();
    const one = await claimed();
    expect(await world.turnWorker.stores.jobs.claim(TURN_JOB, 5, 60_000)).toEqual([]);
    await one.writer.markRead();
    await one.writer.finish({ ...DONE, text: 'One.' });
    const two = await claimed();
    await two.writer.finish({ ...DONE, text: 'Two.' });
    expect((await list()).map(shown)).toEqual([
      ['user', 'read', 'text'],
      [first.id, 'delivered', 'One.'],
      [second.id, 'delivered', 'Two.'],
    ]);
    expect(await world.turnWorker.stores.jobs.claim(TURN_JOB, 5, 60_000)).toEqual([]);
  });

  it('sends earlier replies to later agents', async () => {
    const userMessage = await ask();
    const [first] = agents();
    await (await claimed()).writer.finish({ ...DONE, text: 'One.' });
    const { work } = await claimed();
    const history = await loadHistory(world.turnWorker.stores.database, await world.turnWorker.turnOf(work), 200);
    expect(
      history.map(({ id, agent_id, text }) => (id === userMessage.id ? 'user message' : [agent_id, text])),
    ).toEqual([[first.id, 'One.'], 'user message']);
  });

  it('is rejected as a whole if the queue has no room for all turns', async () => {
    const text = { content: { type: 'text', text: 'hi' } };
    const first = (await world.user.post<{ data: MessageData }>(world.home.messages, text, 201)).body.data;
    const context = { workspace_id: world.home.workspaceId, conversation_id: world.home.conversationId };
    const turn = { ...context, agent_id: agents()[0].id, user_message_id: first.id };
    const queued = Array.from({ length: LIMITS.queuedTurns - 2 }, () => ({ ...turn, id: crypto.randomUUID() }));
    await world.uswarm.database.insertInto('turns').values(queued).execute();
    const before = await list();
    expect(await world.user.refusal('POST', world.home.messages, draft())).toBe('turn_queue_full');
    expect(await list()).toEqual(before);
    await world.user.post(world.home.messages, text, 201);
  });

  it('fails only if the turns of all agents fail', async () => {
    await ask();
    const statuses = [];
    for (const code of ['runtime_not_ready', 'runtime_not_ready']) {
      await (await world.turnWorker.writerOf(await world.turnWorker.claim())).abandon(code, 'Nothing.');
      statuses.push((await list())[0]?.extended_status);
    }
    expect(statuses).toEqual(['sent', 'failed']);
  });

  it('does not fail if the turn of one agent completes', async () => {
    await ask();
    const { writer } = await claimed();
    await writer.markRead();
    await writer.finish({ ...DONE, text: 'One.' });
    await (await world.turnWorker.writerOf(await world.turnWorker.claim())).abandon('runtime_not_ready', 'Nothing.');
    expect((await list()).map(({ extended_status }) => extended_status)).toEqual(['read', 'delivered', 'failed']);
  });

  it('starts no further turn after it is stopped', async () => {
    const userMessage = await ask();
    const { work } = await claimed();
    await stop(userMessage.id);
    expect(await isStopRequested(world.turnWorker.stores.database, work.subjectId)).toBe(true);
    expect((await list()).map(shown)).toEqual([
      ['user', 'delivered', 'text'],
      [agents()[0].id, 'pending', 'loading'],
      [agents()[1].id, 'failed', 'The reply was stopped.'],
    ]);
  });

  it('keeps the turns of the other agents if one reply is stopped', async () => {
    await ask();
    await claimed();
    const reply = (await list()).find(({ role }) => role === 'agent');
    await stop(reply?.id ?? '');
    const rows = await world.uswarm.database
      .selectFrom('turns')
      .select(['status', 'stop_requested'])
      .where('workspace_id', '=', world.home.workspaceId)
      .orderBy('id')
      .execute();
    expect(rows).toEqual([
      { status: 'running', stop_requested: true },
      { status: 'queued', stop_requested: false },
    ]);
  });
});
