import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { MessageContent, MessageData, MessagePage } from '@uswarm/contract';
import type { Stores } from '../../../test/stores.js';
import { storedRows } from '../../../test/stored.js';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';
import { createTurnTaker, LEASE_MS, type TurnTaker } from '../../../test/turns.js';
import type { OfferedContent } from './agent-content-schema.js';
import { TURN_JOB } from './turn-queue.js';
import { LeaseLost, type FinishedReply, type TurnWriter } from './turn-writer.js';

const DONE: FinishedReply = { turnStatus: 'done', messageStatus: 'delivered', text: 'Because.', errorCode: null };
const TOOL = { type: 'tool_status', tool: 'web_search_tool', description: 'Searching', state: 'running' } as const;

describe('what a turn writes', () => {
  let uswarm: TestOrchestrator;
  let taker: TurnTaker;
  let stores: Stores;
  let user: TestUser;
  let home: Home;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
    taker = createTurnTaker(uswarm.database);
    stores = taker.stores;
  });
  afterAll(() => uswarm.close());

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
    const work = await taker.claim();
    return { question: question.body.data, work, writer: await taker.writerOf(work) };
  };
  const messages = async () => (await user.get<MessagePage>(`${home.messages}?direction=forward`)).body.data;
  const tools = async () => (await messages()).filter(({ content }) => content.type === 'tool_status');
  const reply = async () => (await messages()).findLast(({ role }) => role === 'agent');
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
    expect((await (await taker.writerOf(work)).begin()).replyId).toBe(begun.replyId);
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
      seen.push(...(await tools()).map(({ content }) => content));
    }
    expect(seen).toEqual([TOOL, { ...TOOL, state: 'completed' }]);
  });

  const ARTIFACT: OfferedContent & { type: 'artifact' } = {
    type: 'artifact',
    artifact_id: 'a',
    title: 'Report',
    version: 2,
    status: 'draft',
    agent_slug: 'writer',
    content_preview: 'Once upon a time',
  };
  const STEP = {
    step_id: 's',
    name: 'Read',
    status: 'completed',
    agent_slug: 'researcher',
    started_at: '2026-01-01T00:00:00.000Z',
    finished_at: null,
  } as const;
  const WORKFLOW: OfferedContent & { type: 'workflow' } = {
    type: 'workflow',
    workflow_id: 'w',
    workflow_name: 'Research',
    execution_id: 'e',
    status: 'running',
    steps: [STEP],
  };

  it.each<[string, OfferedContent, OfferedContent]>([
    ['an artifact', ARTIFACT, { ...ARTIFACT, version: 3, status: 'final' }],
    ['a workflow', WORKFLOW, { ...WORKFLOW, status: 'completed' }],
  ])(
    '%s is a message of the agent’s own with the fields of its type, which changes in place',
    async (_what, first, then) => {
      const { writer } = await asked();
      await writer.begin();
      const seen = [];
      for (const content of [first, then]) {
        await writer.offer('k', content);
        seen.push(...(await messages()).slice(2));
      }
      expect(seen.map(({ content }) => content)).toEqual([first, then]);
      expect(seen.map(({ role, agent, status }) => [role, agent?.id, status])).toEqual([
        ['agent', home.agents[0]?.id, 'delivered'],
        ['agent', home.agents[0]?.id, 'delivered'],
      ]);
      expect((await types()).slice(-2)).toEqual(['message.new', 'message.updated']);
    },
  );

  it('RES-069 what the system has to say is a message with a text, of no agent, once for each key', async () => {
    const { writer } = await asked();
    await writer.begin();
    for (const text of ['Enough.', 'Enough, again.']) await writer.note('k', text);
    expect((await messages()).slice(2)).toMatchObject([
      { role: 'system', agent: null, content: { type: 'system', text: 'Enough.' } },
    ]);
  });

  it('ends as a text, in the same message, with the event that says so last', async () => {
    const { writer } = await asked();
    const { replyId } = await writer.begin();
    await writer.finish(DONE);
    expect(await reply()).toMatchObject({
      id: replyId,
      content: { type: 'text', text: 'Because.' },
      extended_status: 'delivered',
    });
    expect(await types()).toEqual(['message.new', 'message.updated', 'message.new', 'message.updated', 'message.done']);
    expect(await stores.jobs.claim(TURN_JOB, 1, LEASE_MS)).toEqual([]);
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
    expect((await tools())[0]?.content).toEqual({ ...TOOL, state: 'failed' });
  });

  it('tools that still ran when it ended have failed', async () => {
    const { writer } = await asked();
    await writer.begin();
    await writer.tool(1, { callId: 'a', content: { ...TOOL, state: 'completed' } });
    await writer.tool(1, { callId: 'b', content: TOOL });
    await writer.finish(DONE);
    expect((await tools()).map(({ content }) => content)).toEqual([
      { ...TOOL, state: 'completed' },
      { ...TOOL, state: 'failed' },
    ]);
    // The tool, then the reply: who follows the events sees each end.
    expect((await types()).slice(-3)).toEqual(['message.updated', 'message.updated', 'message.done']);
  });

  const GIVEN_UP = [
    { role: 'user', status: 'failed' },
    { role: 'agent', status: 'failed', content: { type: 'text', text: 'Nobody is there.' } },
  ];

  it('given up before it began, fails the question, and a reply says why', async () => {
    const { writer } = await asked();
    await writer.abandon('runtime_not_ready', 'Nobody is there.');
    expect(await messages()).toMatchObject(GIVEN_UP);
    expect(await types()).toEqual(['message.new', 'message.new', 'message.updated', 'message.updated', 'message.done']);
  });

  it('given up in the middle, says why in the reply that is there', async () => {
    const { writer } = await asked();
    const { replyId } = await writer.begin();
    await writer.abandon('internal_error', 'Nobody is there.');
    expect(await messages()).toMatchObject(GIVEN_UP);
    expect((await reply())?.id).toBe(replyId);
    expect((await types()).slice(-3)).toEqual(['message.updated', 'message.updated', 'message.done']);
  });

  it('given up, leaves no work, and the turn keeps the code', async () => {
    const { writer, work } = await asked();
    await writer.abandon('runtime_not_ready', 'Nobody is there.');
    const rows = await uswarm.database.selectFrom('work').select('subject_id').where('kind', '=', TURN_JOB).execute();
    const turn = await uswarm.database
      .selectFrom('turns')
      .select(['status', 'error_code'])
      .where('id', '=', work.subjectId)
      .executeTakeFirstOrThrow();
    expect([rows, turn]).toEqual([[], { status: 'failed', error_code: 'runtime_not_ready' }]);
  });

  describe('of the agent', () => {
    const activity = async () =>
      (
        await uswarm.database
          .selectFrom('agents')
          .select('activity')
          .where('id', '=', home.agents[0]?.id ?? '')
          .executeTakeFirstOrThrow()
      ).activity;
    /** Another conversation with the same agent, where its reply is being written. */
    const busyElsewhere = async () => {
      const agentId = home.agents[0]?.id;
      const conversation = await user.post<{ data: { id: string } }>(
        `${home.workspace}/conversations`,
        { type: 'agent', agent_id: agentId },
        201,
      );
      const messagesPath = `${home.workspace}/conversations/${conversation.body.data.id}/messages`;
      await user.post(messagesPath, { content: { type: 'text', text: 'and?' } }, 201);
      await (await taker.writerOf(await taker.claim())).begin();
    };

    it('is that it reads, once it began', async () => {
      const { writer } = await asked();
      await writer.begin();
      expect(await activity()).toBe('reading');
    });

    it.each([
      ['online, once it ended', DONE, 'online'],
      ['online, once it was stopped', { ...DONE, turnStatus: 'stopped' }, 'online'],
      ['an error, once it failed', { ...DONE, turnStatus: 'failed' }, 'error'],
    ] satisfies [string, FinishedReply, string][])('is %s', async (_what, finished, expected) => {
      const { writer } = await asked();
      await writer.begin();
      await writer.activity('writing');
      const ended = await writer.finish(finished);
      expect([ended.activity, await activity()]).toEqual([expected, expected]);
    });

    it('is an error, once it was given up', async () => {
      const { writer } = await asked();
      const ended = await writer.abandon('runtime_not_ready', 'Nobody is there.');
      expect([ended.activity, await activity()]).toEqual(['error', 'error']);
    });

    it('stays as it is while the agent writes another reply', async () => {
      const { writer } = await asked();
      await writer.begin();
      await busyElsewhere();
      await writer.activity('thinking');
      const ended = await writer.finish({ ...DONE, turnStatus: 'failed' });
      expect([ended.activity, await activity()]).toEqual([undefined, 'thinking']);
    });
  });

  const lost: [string, (writer: TurnWriter) => Promise<unknown>][] = [
    ['begin', (writer) => writer.begin()],
    ['mark the question', (writer) => writer.markRead()],
    ['show what it does', (writer) => writer.activity('writing')],
    ['name its runtime', (writer) => writer.setInstance('i')],
    ['start a generation', (writer) => writer.nextGeneration(2)],
    ['offer anything', (writer) => writer.offer('k', ARTIFACT)],
    ['show a tool', (writer) => writer.tool(1, { callId: 'c', content: TOOL })],
    ['finish', (writer) => writer.finish(DONE)],
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
    await taker.claim();
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
