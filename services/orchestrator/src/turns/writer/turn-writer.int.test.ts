import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { MessageContent, MessageData, MessagePage } from '@uswarm/contract';
import { CHARGED_CALL } from '../../../test/charged-call.js';
import type { Stores } from '../../../test/stores.js';
import { allRows } from '../../../test/database-rows.js';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';
import { createTestTurnWorker, LEASE_MS, type TestTurnWorker } from '../../../test/turn-fixture.js';
import type { OfferedContent } from '../content/agent-content-schema.js';
import { TURN_JOB } from '../../records/turn-job.js';
import type { FinishedReply } from './turn-ending.js';
import { LeaseLost } from '../commit.js';
import type { TurnWriter } from './turn-writes.js';
import { findNextStep } from '../turns.store.js';

const DONE: FinishedReply = { turnStatus: 'done', messageStatus: 'delivered', text: 'Because.', errorCode: null };
const TOOL = { type: 'tool_status', tool: 'web_search_tool', description: 'Searching', state: 'running' } as const;

describe('the turn writer', () => {
  let uswarm: TestOrchestrator;
  let turnWorker: TestTurnWorker;
  let stores: Stores;
  let user: TestUser;
  let home: Home;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
    turnWorker = createTestTurnWorker(uswarm.database);
    stores = turnWorker.stores;
  });
  afterAll(() => uswarm.close());

  const claimTurn = async () => {
    await uswarm.database.deleteFrom('work').execute();
    user = await uswarm.user();
    home = await uswarm.home(user);
    const userMessage = await user.post<{ data: MessageData }>(
      home.messages,
      { content: { type: 'text', text: 'why?' } },
      201,
    );
    const work = await turnWorker.claim();
    return { userMessage: userMessage.body.data, work, writer: await turnWorker.writerOf(work) };
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

  it('RES-070: stores a loading message of the agent, and marks the user message as delivered', async () => {
    const { writer } = await claimTurn();
    await writer.begin();
    expect(await messages()).toMatchObject([
      { role: 'user', extended_status: 'delivered' },
      { role: 'agent', extended_status: 'pending', agent: { id: home.agents[0]?.id } },
    ]);
    expect((await reply())?.content).toEqual({ type: 'loading' });
  });

  it('stores one reply although the turn begins repeatedly', async () => {
    const { writer, work } = await claimTurn();
    const begun = await writer.begin();
    expect((await (await turnWorker.writerOf(work)).begin()).replyId).toBe(begun.replyId);
    expect(await messages()).toHaveLength(2);
  });

  it('marks the user message as read with the next write', async () => {
    const { writer } = await claimTurn();
    await writer.begin();
    writer.markRead();
    await writer.note('n', 'A note.');
    expect((await messages())[0]).toMatchObject({ role: 'user', extended_status: 'read' });
  });

  it('RES-068: stores a tool call as a message with tool, description and state, and updates it until it is completed', async () => {
    const { writer } = await claimTurn();
    await writer.begin();
    const seen: (MessageContent | undefined)[] = [];
    for (const state of ['running', 'completed', 'running'] as const) {
      await writer.tool({ callId: 'c', content: { ...TOOL, state } });
      seen.push(...(await tools()).map(({ content }) => content));
    }
    const completed = { ...TOOL, state: 'completed' };
    expect(seen).toEqual([TOOL, completed, completed]);
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
  ])('stores %s as a separate message with the fields of its type, and updates it', async (_what, first, then) => {
    const { writer } = await claimTurn();
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
  });

  it('invariant 11: shows no image of another host on a card', async () => {
    const { writer } = await claimTurn();
    await writer.begin();
    const image = '![a](https://evil.example/?q=1)';
    const actions = [{ id: 'a', label: image, style: 'primary' as const }];
    await writer.offer('k', { type: 'action_card', title: image, description: image, actions });
    expect(JSON.stringify((await messages()).at(-1)?.content)).not.toContain('![');
  });

  it('RES-069: stores a system note as a text message without an agent, once per key', async () => {
    const { writer } = await claimTurn();
    await writer.begin();
    for (const text of ['Enough.', 'Enough, again.']) await writer.note('k', text);
    expect((await messages()).slice(2)).toMatchObject([
      { role: 'system', agent: null, content: { type: 'system', text: 'Enough.' } },
    ]);
  });

  it('shows once per conversation that a limit is reached, however many turns reach it', async () => {
    const limit = { scope: 'budget', token_limit: 46, resets_at: '2026-12-01T00:00:00.000Z' } as const;
    const { writer } = await claimTurn();
    await writer.begin();
    await writer.noteLimit(limit);
    await writer.finish(DONE);
    const next = (await claimTurn()).writer;
    await next.begin();
    for (const reached of [limit, limit, { ...limit, resets_at: '2027-01-01T00:00:00.000Z' }])
      await next.noteLimit(reached);
    expect((await messages()).filter(({ role }) => role === 'system').map(({ content }) => content)).toEqual([
      {
        type: 'system',
        text: 'The budget of this workspace (46 tokens) for this month is reached. It resets on 2026-12-01 (UTC).',
      },
      {
        type: 'system',
        text: 'The budget of this workspace (46 tokens) for this month is reached. It resets on 2027-01-01 (UTC).',
      },
    ]);
  });

  it('finishes the reply as a text in the same message, with message.done as the last event', async () => {
    const { writer } = await claimTurn();
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

  it('counts usage once per step', async () => {
    const { writer, work } = await claimTurn();
    const { id: userId } = await uswarm.database
      .selectFrom('users')
      .select('id')
      .where('email', '=', user.email)
      .executeTakeFirstOrThrow();
    const entry = {
      ...CHARGED_CALL,
      turnId: work.subjectId,
      userId,
      workspaceId: home.workspaceId,
      provider: 'demo',
      model: 'm',
      promptTokens: 3,
      completionTokens: 4,
      cachedTokens: 2,
      reasoningTokens: 1,
      estimated: true,
    };
    for (const step of [1, 1, 2]) {
      writer.usage({ ...entry, step }, 'unannounced', () => undefined);
      await writer.flush();
    }
    expect(await findNextStep(stores.database, work.subjectId)).toBe(3);
    const rows = await uswarm.database
      .selectFrom('usage_entries')
      .select(['step', 'cached_tokens', 'reasoning_tokens', 'estimated', 'kind'])
      .where('turn_id', '=', work.subjectId)
      .orderBy('step')
      .execute();
    const details = { cached_tokens: 2, reasoning_tokens: 1, estimated: true, kind: 'step' };
    expect(rows).toEqual([
      { step: 1, ...details },
      { step: 2, ...details },
    ]);
  });

  it('starts a new generation once, and fails running tools', async () => {
    const { writer } = await claimTurn();
    await writer.begin();
    await writer.tool({ callId: 'c', content: TOOL });
    expect(await writer.nextGeneration(2)).toBe(2);
    expect(await writer.nextGeneration(2)).toBeUndefined();
    expect((await tools())[0]?.content).toEqual({ ...TOOL, state: 'failed' });
  });

  it('fails tools that are still running at the end', async () => {
    const { writer } = await claimTurn();
    await writer.begin();
    await writer.tool({ callId: 'a', content: { ...TOOL, state: 'completed' } });
    await writer.tool({ callId: 'b', content: TOOL });
    await writer.finish(DONE);
    expect((await tools()).map(({ content }) => content)).toEqual([
      { ...TOOL, state: 'completed' },
      { ...TOOL, state: 'failed' },
    ]);
    // The tool first, then the reply.
    expect((await types()).slice(-3)).toEqual(['message.updated', 'message.updated', 'message.done']);
  });

  const GIVEN_UP = [
    { role: 'user', status: 'failed' },
    { role: 'agent', status: 'failed', content: { type: 'text', text: 'The agents did not start.' } },
  ];

  it('abandons a queued turn: the user message fails, and a reply states the reason', async () => {
    const { writer } = await claimTurn();
    await writer.abandon('runtime_not_ready', 'The agents did not start.');
    expect(await messages()).toMatchObject(GIVEN_UP);
    expect(await types()).toEqual(['message.new', 'message.new', 'message.updated', 'message.updated', 'message.done']);
  });

  it('abandons a running turn: the existing reply states the reason', async () => {
    const { writer } = await claimTurn();
    const { replyId } = await writer.begin();
    await writer.abandon('internal_error', 'The agents did not start.');
    expect(await messages()).toMatchObject(GIVEN_UP);
    expect((await reply())?.id).toBe(replyId);
    expect((await types()).slice(-3)).toEqual(['message.updated', 'message.updated', 'message.done']);
  });

  it('abandons a turn: no job is left, and the turn has the error code', async () => {
    const { writer, work } = await claimTurn();
    await writer.abandon('runtime_not_ready', 'The agents did not start.');
    const rows = await uswarm.database.selectFrom('work').select('subject_id').where('kind', '=', TURN_JOB).execute();
    const turn = await uswarm.database
      .selectFrom('turns')
      .select(['status', 'error_code'])
      .where('id', '=', work.subjectId)
      .executeTakeFirstOrThrow();
    expect(rows).toEqual([]);
    expect(turn).toEqual({ status: 'failed', error_code: 'runtime_not_ready' });
  });

  describe('the activity of the agent', () => {
    const activity = async () =>
      (
        await uswarm.database
          .selectFrom('agents')
          .select('activity')
          .where('id', '=', home.agents[0]?.id ?? '')
          .executeTakeFirstOrThrow()
      ).activity;
    /** Uses the same agent in another conversation. */
    const beginTurnElsewhere = async () => {
      const agentId = home.agents[0]?.id;
      const conversation = await user.post<{ data: { id: string } }>(
        `${home.workspace}/conversations`,
        { type: 'agent', agent_id: agentId },
        201,
      );
      const messagesPath = `${home.workspace}/conversations/${conversation.body.data.id}/messages`;
      await user.post(messagesPath, { content: { type: 'text', text: 'and?' } }, 201);
      await (await turnWorker.writerOf(await turnWorker.claim())).begin();
    };

    it('is reading after the begin', async () => {
      const { writer } = await claimTurn();
      await writer.begin();
      expect(await activity()).toBe('reading');
    });

    it.each([
      ['online after the end', DONE, 'online'],
      ['online after a stop', { ...DONE, turnStatus: 'stopped' }, 'online'],
      ['error after a failure', { ...DONE, turnStatus: 'failed' }, 'error'],
    ] satisfies [string, FinishedReply, string][])('is %s', async (_what, finished, expected) => {
      const { writer } = await claimTurn();
      await writer.begin();
      await writer.activity('writing');
      await writer.finish(finished);
      expect(await activity()).toBe(expected);
    });

    it('is error after the turn is abandoned', async () => {
      const { writer } = await claimTurn();
      await writer.abandon('runtime_not_ready', 'The agents did not start.');
      expect(await activity()).toBe('error');
    });

    it('is that of the other running turn after one ends', async () => {
      const { writer } = await claimTurn();
      await writer.begin();
      await beginTurnElsewhere();
      await writer.activity('thinking');
      expect(await activity()).toBe('thinking');
      await writer.finish({ ...DONE, turnStatus: 'failed' });
      expect(await activity()).toBe('reading');
    });
  });

  const ATTEMPT = {
    ...CHARGED_CALL,
    usageTurnId: crypto.randomUUID(),
    userId: crypto.randomUUID(),
    workspaceId: crypto.randomUUID(),
    step: 1,
    provider: 'p',
    model: 'm',
    promptTokens: 1,
    maxOutputTokens: 1,
  };
  const COUNTED = { completionTokens: 1, cachedTokens: 0, reasoningTokens: 0, estimated: false };
  const lost: [string, (writer: TurnWriter) => Promise<unknown>][] = [
    ['begin', (writer) => writer.begin()],
    ['mark the user message', (writer) => (writer.markRead(), writer.flush())],
    ['set the activity', (writer) => writer.activity('writing')],
    ['set the instance', (writer) => writer.setInstance({ instance: { id: 'i', budgeted: true }, untrusted: [] })],
    ['start a generation', (writer) => writer.nextGeneration(2)],
    ['reserve tokens', (writer) => writer.reserve(ATTEMPT, false)],
    ['ask for tokens', (writer) => writer.askForTokens('')],
    [
      'settle tokens',
      (writer) => {
        writer.usage({ ...ATTEMPT, turnId: ATTEMPT.usageTurnId, ...COUNTED }, 'reserved', () => undefined);
        return writer.flush();
      },
    ],
    ['offer content', (writer) => writer.offer('k', ARTIFACT)],
    ['store a tool call', (writer) => writer.tool({ callId: 'c', content: TOOL })],
    ['finish', (writer) => writer.finish(DONE)],
    ['abandon', (writer) => writer.abandon('x', 'y')],
  ];

  it.each(lost)('cannot %s after it lost the lease', async (_what, write) => {
    const { writer, work } = await claimTurn();
    await writer.begin();
    await uswarm.database
      .updateTable('work')
      .set({ lease_expires_at: new Date(0) })
      .where('subject_id', '=', work.subjectId)
      .execute();
    await turnWorker.claim();
    const before = await allRows(uswarm.database);
    await expect(write(writer)).rejects.toThrow(LeaseLost);
    expect(await allRows(uswarm.database)).toEqual(before);
  });

  it.each(lost)('cannot %s after the account is deleted', async (_what, write) => {
    const { writer } = await claimTurn();
    await writer.begin();
    await user.delete('/v1/auth/delete', {}, 204);
    const before = await allRows(uswarm.database);
    await expect(write(writer)).rejects.toThrow(LeaseLost);
    expect(await allRows(uswarm.database)).toEqual(before);
  });
});
