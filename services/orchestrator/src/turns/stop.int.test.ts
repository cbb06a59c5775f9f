import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { MessageData, MessagePage, ReplayedEvent } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { ASKED } from '../../test/message-client.js';
import { allRows } from '../../test/database-rows.js';
import { startTestOrchestrator, type TestOrchestrator } from '../../test/test-orchestrator.js';
import { useTurnFixture } from '../../test/turn-fixture.js';
import { approvalCard, callHash } from '../records/approval-card.js';
import { LeaseLost } from './commit.js';

const body = (text: string) => ({ content: { type: 'text', text } });

describe('a stop request for a queued turn', () => {
  const world = useTurnFixture();

  const ask = async (text: string) =>
    (await world.user.post<{ data: MessageData }>(world.home.messages, body(text), 201)).body.data.id;
  const pathOf = (id: string, workspace = world.home.workspace) => `${workspace}/messages/${id}/stop`;
  const stop = (id: string) => world.user.post(pathOf(id), undefined, 204);
  const refusal = (id: string) => world.user.refusal('POST', pathOf(id));
  const messages = async () =>
    (await world.user.get<MessagePage>(`${world.home.messages}?direction=forward`)).body.data;
  const turns = async () =>
    (
      await world.uswarm.database
        .selectFrom('turns')
        .select(['status', 'stop_requested'])
        .where('workspace_id', '=', world.home.workspaceId)
        .orderBy('created_at')
        .execute()
    ).map(({ status, stop_requested }) => (stop_requested ? `${status}, to be stopped` : status));

  it('POST …/messages/{mid}/stop returns 204 and stops the turn immediately', async () => {
    const userMessage = await ask('why?');
    expect((await stop(userMessage)).body).toBeUndefined();
    expect(await turns()).toEqual(['stopped']);
    expect(await messages()).toMatchObject([
      { id: userMessage, extended_status: 'failed' },
      { role: 'agent', extended_status: 'failed', content: { type: 'text', text: 'The reply was stopped.' } },
    ]);
    const events = (await world.user.get<{ data: ReplayedEvent[] }>(`${world.home.workspace}/events`)).body.data;
    expect(events.at(-1)).toMatchObject({ event: 'message.done', payload: { status: 'failed' } });
  });

  it('leaves no job, and the agent is online', async () => {
    await stop(await ask('why?'));
    const work = world.uswarm.database.selectFrom('work').select('subject_id').where('kind', '=', 'turn');
    const agent = world.uswarm.database
      .selectFrom('agents')
      .select('activity')
      .where('id', '=', world.home.agents[0]?.id ?? '');
    expect(await work.execute()).toEqual([]);
    expect(await agent.executeTakeFirst()).toEqual({ activity: 'online' });
  });

  it('does not stop the running turn before it', async () => {
    const first = await ask('one');
    const writer = await world.turnWorker.writerOf(await world.turnWorker.claim());
    await writer.begin();
    const second = await ask('two');
    await stop(second);
    expect(await turns()).toEqual(['running', 'stopped']);
    await writer.finish({ turnStatus: 'done', messageStatus: 'delivered', text: 'One.', errorCode: null });
    const outcome = (await messages()).map(({ id, role, extended_status }) => [
      role,
      id === first || id === second,
      extended_status,
    ]);
    expect(outcome).toEqual([
      ['user', true, 'delivered'],
      ['agent', false, 'delivered'],
      ['user', true, 'failed'],
      ['agent', false, 'failed'],
    ]);
  });

  it('takes the lease from a worker that has not begun the turn', async () => {
    const userMessage = await ask('why?');
    const writer = await world.turnWorker.writerOf(await world.turnWorker.claim());
    await stop(userMessage);
    await expect(writer.begin()).rejects.toThrow(LeaseLost);
  });

  it('either stops the turn or requests its stop, when the turn begins concurrently', async () => {
    for (let round = 0; round < 10; round += 1) {
      const userMessage = await ask('why?');
      const work = await world.turnWorker.claim();
      const writer = await world.turnWorker.writerOf(work);
      const [began] = await Promise.all([
        writer.begin().then(
          () => true,
          () => false,
        ),
        stop(userMessage),
      ]);
      expect((await turns()).at(-1)).toBe(began ? 'running, to be stopped' : 'stopped');
      await world.uswarm.database.deleteFrom('work').where('kind', '=', 'turn').execute();
    }
  });

  it('only requests the stop of a running turn, which its worker ends', async () => {
    const userMessage = await ask('why?');
    const writer = await world.turnWorker.writerOf(await world.turnWorker.claim());
    const { replyId } = await writer.begin();
    for (const id of [userMessage, replyId]) await stop(id);
    expect(await turns()).toEqual(['running, to be stopped']);
    await writer.finish({ turnStatus: 'stopped', messageStatus: 'incomplete', text: 'Becau', errorCode: null });
    expect((await messages())[1]).toMatchObject({ id: replyId, status: 'failed', extended_status: 'incomplete' });
  });

  it('stops the running turn that reads a decision, by the message that tells of it', async () => {
    await ask('why?');
    const writer = await world.turnWorker.writerOf(await world.turnWorker.claim());
    await writer.begin();
    const asked = { id: 'c1', tool: 'send', argumentsHash: callHash('send', '{}'), key: undefined };
    await writer.ask({ ...asked, integrationId: undefined, card: approvalCard({ title: 'Send', changes: [] }, ASKED) });
    const card = (await messages()).find(({ content }) => content.type === 'action_card')!;
    await world.user.post(`${world.home.workspace}/messages/${card.id}/action`, { action_id: 'approve' }, 200);
    const decision = (await messages()).findLast(({ role }) => role === 'user')!;
    await stop(decision.id);
    expect(await turns()).toEqual(['running, to be stopped']);
    await writer.finish({ turnStatus: 'stopped', messageStatus: 'incomplete', text: 'I', errorCode: null });
    expect(await refusal(decision.id)).toBe('turn_not_running');
  });

  it('returns turn_not_running for a turn that has ended', async () => {
    const [answered, stopped] = [await ask('one'), await ask('two')];
    await stop(stopped);
    const writer = await world.turnWorker.writerOf(await world.turnWorker.claim());
    const { replyId } = await writer.begin();
    await writer.finish({ turnStatus: 'done', messageStatus: 'delivered', text: 'One.', errorCode: null });
    const before = await allRows(world.uswarm.database);
    for (const id of [answered, replyId, stopped]) expect(await refusal(id)).toBe('turn_not_running');
    expect(await allRows(world.uswarm.database)).toEqual(before);
  });

  it('stops the turn once when it is sent twenty times concurrently', async () => {
    const userMessage = await ask('why?');
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        world.user.raw<{ code?: string }>({ method: 'POST', path: pathOf(userMessage) }),
      ),
    );
    const outcomes = new Set(answers.map(({ status, body: answer }) => answer?.code ?? status));
    expect([...outcomes].every((outcome) => outcome === 204 || outcome === 'turn_not_running')).toBe(true);
    const events = (await world.user.get<{ data: ReplayedEvent[] }>(`${world.home.workspace}/events`)).body.data;
    expect(events.filter(({ event }) => event === 'message.done')).toHaveLength(1);
  });

  it('returns not_found for another user, and the turn continues', async () => {
    const userMessage = await ask('why?');
    const otherUser = await world.uswarm.user();
    const own = await world.uswarm.home(otherUser);
    for (const path of [
      pathOf(userMessage),
      pathOf(userMessage, own.workspace),
      pathOf(crypto.randomUUID(), own.workspace),
    ]) {
      expect(await otherUser.refusal('POST', path)).toMatch(/^(workspace|message)_not_found$/);
    }
    expect(await turns()).toEqual(['queued']);
  });
});

describe('a stop request for a running turn', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({
      environment: { RUNTIME_WORKERS: '1', TURN_WORKERS: '2', USWARM_DEMO_DELAY_MS: '100' },
    });
  });
  afterAll(() => uswarm.close());

  /** The demo model streams this for minutes. */
  const LONG = Array.from({ length: 2_000 }, (_, n) => `word${n}`).join(' ');

  it('ends the turn soon with its text so far, and the next turn completes', async () => {
    const user = await uswarm.user();
    const home = await uswarm.home(user);
    const chunks: string[] = [];
    await uswarm.bus.subscribe(home.workspaceId, (envelope) => {
      if (envelope.event === 'message.chunk') chunks.push(String(envelope.payload['chunk']));
    });
    const userMessage = await user.post<{ data: MessageData }>(home.messages, body(LONG), 201);
    await eventually(() => chunks.length, { until: (count) => count > 2, timeoutMs: 60_000 });
    await user.post(`${home.workspace}/messages/${userMessage.body.data.id}/stop`, undefined, 204);
    const reply = async () =>
      (await user.get<MessagePage>(home.messages)).body.data.find(({ role }) => role === 'agent');
    const ended = await eventually(reply, {
      until: (message) => message?.extended_status === 'incomplete',
      timeoutMs: 15_000,
    });
    expect(ended).toMatchObject({ status: 'failed', extended_status: 'incomplete', content: { type: 'text' } });
    const text = ended?.content.type === 'text' ? ended.content.text : '';
    expect(text.startsWith('[demo] You')).toBe(true);
    expect(text.endsWith('word1999')).toBe(false);
    await user.post(home.messages, body('and now?'), 201);
    const next = await eventually(reply, {
      until: (message) => message?.extended_status === 'delivered',
      timeoutMs: 30_000,
    });
    expect(next?.content).toMatchObject({ text: expect.stringContaining('and now?') });
  });
});
