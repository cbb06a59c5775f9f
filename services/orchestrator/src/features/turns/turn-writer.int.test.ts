import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { MessageContent, MessageData, MessagePage } from '@uswarm/contract';
import { createStores, type Stores } from '../../stores.js';
import { storedRows } from '../../../test/stored.js';
import {
  first,
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';
import type { LeasedWork } from '../../work/work.store.js';
import { TURN_WORK } from './turn-queue.js';
import { createTurnWriter, LeaseLost, type TurnWriter } from './turn-writer.js';

const LEASE_MS = 3_600_000;
const TOOL = { type: 'tool_status', tool: 'web_search_tool', description: 'Searching', state: 'running' } as const;

describe('what a turn writes', () => {
  let uswarm: TestOrchestrator;
  let stores: Stores;
  let user: TestUser;
  let home: Home;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
    stores = createStores(uswarm.database);
  });
  afterAll(() => uswarm.close());

  const writerOf = async (work: LeasedWork): Promise<TurnWriter> => {
    const turn = await stores.turns.get(work.subjectId);
    if (turn === undefined) throw new Error('there is no turn');
    const transaction: Parameters<typeof createTurnWriter>[0]['transaction'] = (run) =>
      uswarm.database.transaction().execute(run);
    return createTurnWriter({ ...stores, transaction, committed: () => undefined }, turn, work);
  };
  const claim = async () => first(await stores.work.claim(TURN_WORK, 1, LEASE_MS));
  /** A new user that asked something, and the turn that is to answer. */
  const asked = async () => {
    await uswarm.database.deleteFrom('work').execute();
    user = await uswarm.user();
    home = await uswarm.home(user);
    const question = await user.post<{ data: MessageData }>(
      home.messages,
      { content: { type: 'text', text: 'why?' } },
      201,
    );
    const work = await claim();
    return { question: question.body.data, work, writer: await writerOf(work) };
  };
  const messages = async () => (await user.get<MessagePage>(`${home.messages}?direction=forward`)).body.data;
  const reply = async () => (await messages()).find(({ role }) => role === 'agent');
  const types = async () => {
    const rows = await uswarm.database
      .selectFrom('workspace_events')
      .select(['seq', 'type'])
      .where('workspace_id', '=', home.workspaceId)
      .orderBy('seq')
      .execute();
    return rows.map(({ type }) => type);
  };

  it('RES-070 begins as a message of the agent that is loading and has nothing else, and delivers the question', async () => {
    const { writer } = await asked();
    await writer.begin();
    expect(await messages()).toMatchObject([
      { role: 'user', extended_status: 'delivered' },
      { role: 'agent', extended_status: 'pending', agent: { id: home.agents[0]?.id } },
    ]);
    expect((await reply())?.content).toEqual({ type: 'loading' });
  });

  it('begins once, however often it is taken up', async () => {
    const { writer, work } = await asked();
    const begun = await writer.begin();
    expect((await (await writerOf(work)).begin()).replyId).toBe(begun.replyId);
    expect(await messages()).toHaveLength(2);
  });

  it('marks the question as read', async () => {
    const { writer } = await asked();
    await writer.begin();
    await writer.markRead();
    expect((await messages())[0]).toMatchObject({ role: 'user', extended_status: 'read' });
  });

  it('RES-068 a tool call is a message with tool, description and state, which changes in place', async () => {
    const { writer } = await asked();
    await writer.begin();
    const seen: (MessageContent | undefined)[] = [];
    for (const state of ['running', 'completed'] as const) {
      await writer.tool(1, { callId: 'c', content: { ...TOOL, state } });
      seen.push(...(await messages()).slice(2).map(({ content }) => content));
    }
    expect(seen).toEqual([TOOL, { ...TOOL, state: 'completed' }]);
  });

  it('ends as a text, in the same message, with the event that says so last', async () => {
    const { writer } = await asked();
    const { replyId } = await writer.begin();
    await writer.finish({ turnStatus: 'done', messageStatus: 'delivered', text: 'Because.', errorCode: null });
    expect(await reply()).toMatchObject({
      id: replyId,
      content: { type: 'text', text: 'Because.' },
      extended_status: 'delivered',
    });
    expect(await types()).toEqual(['message.new', 'message.updated', 'message.new', 'message.updated', 'message.done']);
    expect(await stores.work.claim(TURN_WORK, 1, LEASE_MS)).toEqual([]);
  });

  it('counts usage once for each step', async () => {
    const { writer, work } = await asked();
    const { id: userId } = await uswarm.database
      .selectFrom('users')
      .select('id')
      .where('email', '=', user.email)
      .executeTakeFirstOrThrow();
    const entry = {
      turnId: work.subjectId,
      userId,
      workspaceId: home.workspaceId,
      provider: 'demo',
      model: 'm',
      promptTokens: 3,
      completionTokens: 4,
    };
    for (const step of [1, 1, 2]) await writer.usage({ ...entry, step });
    expect(await stores.turns.nextStep(work.subjectId)).toBe(3);
    const rows = await uswarm.database
      .selectFrom('usage_entries')
      .select('step')
      .where('turn_id', '=', work.subjectId)
      .execute();
    expect(rows).toHaveLength(2);
  });

  it('a new generation is given once, and tools that still ran have failed', async () => {
    const { writer } = await asked();
    await writer.begin();
    await writer.tool(1, { callId: 'c', content: TOOL });
    expect([await writer.nextGeneration(2), await writer.nextGeneration(2)]).toEqual([2, undefined]);
    expect((await messages())[2]?.content).toEqual({ ...TOOL, state: 'failed' });
  });

  it('given up before it began, fails the question, and a reply says why', async () => {
    const { writer } = await asked();
    await writer.abandon('runtime_not_ready', 'Nobody is there.');
    expect(await messages()).toMatchObject([
      { role: 'user', status: 'failed' },
      { role: 'agent', status: 'failed', content: { type: 'text', text: 'Nobody is there.' } },
    ]);
  });

  const lost: [string, (writer: TurnWriter) => Promise<unknown>][] = [
    ['begin', (writer) => writer.begin()],
    ['mark the question', (writer) => writer.markRead()],
    ['show what it does', (writer) => writer.activity('writing')],
    ['name its runtime', (writer) => writer.setInstance('i')],
    ['start a generation', (writer) => writer.nextGeneration(2)],
    ['show a tool', (writer) => writer.tool(1, { callId: 'c', content: TOOL })],
    [
      'finish',
      (writer) => writer.finish({ turnStatus: 'done', messageStatus: 'delivered', text: 'x', errorCode: null }),
    ],
    ['give up', (writer) => writer.abandon('x', 'y')],
  ];

  it.each(lost)('a holder that lost its lease cannot %s', async (_what, write) => {
    const { writer, work } = await asked();
    await writer.begin();
    await uswarm.database
      .updateTable('work')
      .set({ lease_expires_at: new Date(0) })
      .where('subject_id', '=', work.subjectId)
      .execute();
    await claim();
    const before = await storedRows(uswarm.database);
    await expect(write(writer)).rejects.toThrow(LeaseLost);
    expect(await storedRows(uswarm.database)).toEqual(before);
  });

  it.each(lost)('once the account is deleted, cannot %s', async (_what, write) => {
    const { writer } = await asked();
    await writer.begin();
    await user.delete('/v1/auth/delete', {}, 204);
    const before = await storedRows(uswarm.database);
    await expect(write(writer)).rejects.toThrow(LeaseLost);
    expect(await storedRows(uswarm.database)).toEqual(before);
  });
});
