import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LIMITS, type MessageContent, type MessageData, type MessagePage, type ReplayedEvent } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { allRows } from '../../test/database-rows.js';
import { startTestOrchestrator, type TestOrchestrator } from '../../test/test-orchestrator.js';
import { useTurnFixture } from '../../test/turn-fixture.js';
import type { ActionCard } from './action-card.js';
import { loadHistory } from '../turns/turns.store.js';

const CARD: ActionCard = {
  type: 'action_card',
  title: 'Which one?',
  description: 'Both are fine.',
  actions: [
    { id: 'a', label: 'The first', style: 'primary' },
    { id: 'b', label: 'The second', style: 'destructive' },
  ],
};
const DONE = { turnStatus: 'done', messageStatus: 'delivered', text: 'Please choose.', errorCode: null } as const;

describe('action cards', () => {
  const world = useTurnFixture();

  const messages = async () =>
    (await world.user.get<MessagePage>(`${world.home.messages}?direction=forward`)).body.data;
  /** Makes an agent offer a card. @returns the id of the card */
  const offered = async (agent = 0, finish = true): Promise<string> => {
    const mentions = [{ agent_id: world.home.agents[agent]?.id, agent_name: '', offset: 0, length: 1 }];
    await world.user.post(world.home.messages, { content: { type: 'text', text: 'what?' }, mentions }, 201);
    const writer = await world.turnWorker.writerOf(await world.turnWorker.claim());
    await writer.begin();
    await writer.offer('k', CARD);
    if (finish) await writer.finish(DONE);
    return (await messages()).find(({ content }) => content.type === 'action_card')?.id ?? '';
  };
  const pathOf = (id: string, workspace = world.home.workspace) => `${workspace}/messages/${id}/action`;
  const choose = async (id: string, action_id: string) =>
    (await world.user.post<{ data: MessageData }>(pathOf(id), { action_id }, 200)).body.data;
  const refusal = (id: string, action_id: string) => world.user.refusal('POST', pathOf(id), { action_id });
  const selected = async (id: string) => (await messages()).find((message) => message.id === id)?.content;

  it('RES-067 a card has a title, a description, actions with id, label and style, and no choice', async () => {
    const id = await offered();
    expect((await messages()).find((message) => message.id === id)).toMatchObject({
      role: 'agent',
      agent: { id: world.home.agents[0]?.id },
      content: CARD,
      extended_status: 'delivered',
    });
  });

  it('REST-035 POST /v1/workspaces/{workspaceId}/messages/{id}/action takes action_id and returns the message', async () => {
    const id = await offered();
    expect(await choose(id, 'b')).toMatchObject({ id, content: { ...CARD, selected_action_id: 'b' } });
  });

  it('STATE-004 a choice is stored in selected_action_id and announced by an event', async () => {
    const id = await offered();
    const updated = await choose(id, 'b');
    expect({ content: updated.content, selected: await selected(id) }).toEqual({
      content: { ...CARD, selected_action_id: 'b' },
      selected: { ...CARD, selected_action_id: 'b' },
    });
    const events = (await world.user.get<{ data: ReplayedEvent[] }>(`${world.home.workspace}/events`)).body.data;
    expect(events.slice(-2)).toMatchObject([
      { event: 'message.updated', payload: { message: { id } } },
      { event: 'message.new', payload: { message: { role: 'user', content: { text: 'The second' } } } },
    ]);
  });

  it('a choice becomes the next user message to the agent of the card, and the agent sees the card', async () => {
    await choose(await offered(2), 'a');
    const turn = await world.turnWorker.turnOf(await world.turnWorker.claim());
    expect(turn.agent_id).toBe(world.home.agents[2]?.id);
    const history = (await loadHistory(world.turnWorker.stores.database, turn, 10)).toReversed();
    expect(history.map(({ role, text }) => `${role}: ${text}`)).toEqual([
      'user: what?',
      'agent: Please choose.',
      'agent: Which one?\nBoth are fine.\n- The first\n- The second',
      'user: The first',
    ]);
  });

  it('an agent is pending while its card is open, and online after the choice is answered', async () => {
    const activity = async () =>
      (
        await world.uswarm.database
          .selectFrom('agents')
          .select('activity')
          .where('id', '=', world.home.agents[0]?.id ?? '')
          .executeTakeFirstOrThrow()
      ).activity;
    const id = await offered();
    expect(await activity()).toBe('pending');
    await choose(id, 'a');
    const writer = await world.turnWorker.writerOf(await world.turnWorker.claim());
    await writer.begin();
    await writer.finish(DONE);
    expect(await activity()).toBe('online');
  });

  it('a repeated choice returns the same result and changes nothing', async () => {
    const id = await offered();
    const first = await choose(id, 'a');
    const before = await allRows(world.uswarm.database);
    expect(await choose(id, 'a')).toEqual(first);
    expect(await allRows(world.uswarm.database)).toEqual(before);
  });

  it('a different choice is rejected with action_already_chosen and changes nothing', async () => {
    const id = await offered();
    await choose(id, 'a');
    const before = await allRows(world.uswarm.database);
    expect(await refusal(id, 'b')).toBe('action_already_chosen');
    expect(await allRows(world.uswarm.database)).toEqual(before);
  });

  it('accept one of several concurrent choices: equal ones succeed, others are rejected, and one turn starts', async () => {
    const id = await offered();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        world.user.raw<{ data?: MessageData; code?: string }>({
          method: 'POST',
          path: pathOf(id),
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ action_id: n % 2 === 0 ? 'a' : 'b' }),
        }),
      ),
    );
    const outcomes = answers.map(({ status, body }) => body.code ?? status);
    expect(outcomes.filter((outcome) => outcome === 200)).toHaveLength(10);
    expect(outcomes.filter((outcome) => outcome === 'action_already_chosen')).toHaveLength(10);
    expect((await messages()).filter(({ role }) => role === 'user')).toHaveLength(2);
    const events = (await world.user.get<{ data: ReplayedEvent[] }>(`${world.home.workspace}/events`)).body.data;
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  });

  it('a card accepts a choice while the agent still writes, and a later update of the card keeps the choice', async () => {
    const id = await offered(0, false);
    await choose(id, 'a');
    const turns = await world.uswarm.database
      .selectFrom('turns')
      .selectAll()
      .where('workspace_id', '=', world.home.workspaceId)
      .execute();
    const running = turns.find(({ status }) => status === 'running');
    const work = await world.uswarm.database
      .selectFrom('work')
      .selectAll()
      .where('subject_id', '=', running?.id ?? '')
      .executeTakeFirstOrThrow();
    const leased = {
      kind: work.kind,
      subjectId: work.subject_id,
      workspaceId: work.workspace_id,
      leaseId: work.lease_id ?? '',
    };
    const writer = await world.turnWorker.writerOf({ ...leased, attempts: 1, failures: 0, takenOver: true });
    await writer.offer('k', CARD);
    expect(await selected(id)).toEqual({ ...CARD, selected_action_id: 'a' });
  });

  it('a card of a lost agent message rejects choices', async () => {
    const id = await offered(0, false);
    const turn = await world.uswarm.database
      .selectFrom('turns')
      .select('id')
      .where('workspace_id', '=', world.home.workspaceId)
      .executeTakeFirstOrThrow();
    const work = await world.uswarm.database
      .selectFrom('work')
      .selectAll()
      .where('subject_id', '=', turn.id)
      .executeTakeFirstOrThrow();
    const leased = {
      kind: work.kind,
      subjectId: work.subject_id,
      workspaceId: work.workspace_id,
      leaseId: work.lease_id ?? '',
    };
    const writer = await world.turnWorker.writerOf({ ...leased, attempts: 1, failures: 0, takenOver: true });
    await writer.nextGeneration(2);
    expect((await messages()).find((message) => message.id === id)?.extended_status).toBe('failed');
    expect(await refusal(id, 'a')).toBe('action_not_found');
    await writer.offer('k', CARD);
    expect(await choose(id, 'a')).toMatchObject({ status: 'delivered', content: { selected_action_id: 'a' } });
  });

  it('a choice is rejected with turn_queue_full while the queue is full, and succeeds later', async () => {
    const id = await offered();
    for (let n = 0; n < LIMITS.queuedTurns; n += 1) {
      await world.user.post(world.home.messages, { content: { type: 'text', text: 'more' } }, 201);
    }
    const before = await allRows(world.uswarm.database);
    expect(await refusal(id, 'a')).toBe('turn_queue_full');
    expect(await allRows(world.uswarm.database)).toEqual(before);
    await world.uswarm.database
      .updateTable('turns')
      .set({ status: 'done' })
      .where('workspace_id', '=', world.home.workspaceId)
      .execute();
    expect(await choose(id, 'a')).toMatchObject({ id });
  });

  it.each([
    ['an action that the card does not have', 'c'],
    ['an action id in another letter case', 'A'],
  ])('a choice is rejected with action_not_found for %s', async (_what, action) => {
    expect(await refusal(await offered(), action)).toBe('action_not_found');
  });

  it('a choice is rejected with action_not_found for a message that is not a card', async () => {
    const { body } = await world.user.post<{ data: MessageData }>(
      world.home.messages,
      { content: { type: 'text', text: 'x' } },
      201,
    );
    expect(await refusal(body.data.id, 'a')).toBe('action_not_found');
  });

  it.each([{}, { action_id: '' }, { action_id: 7 }, { action_id: 'x'.repeat(129) }])(
    'a choice is rejected if its body is %j',
    async (body) => {
      expect(await world.user.refusal('POST', pathOf(await offered()), body)).toBe('validation_failed');
    },
  );

  it('a card of another user is not found and remains unchanged', async () => {
    const id = await offered();
    const before = await allRows(world.uswarm.database);
    const otherUser = await world.uswarm.user();
    const own = await world.uswarm.home(otherUser);
    for (const path of [pathOf(id), pathOf(id, own.workspace), pathOf(crypto.randomUUID(), own.workspace)]) {
      expect(await otherUser.refusal('POST', path, { action_id: 'a' })).toMatch(/^(workspace|message)_not_found$/);
    }
    expect((await allRows(world.uswarm.database))['messages']).toEqual(before['messages']);
  });
});

describe('an action card of the demo model', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ environment: { RUNTIME_WORKERS: '1', TURN_WORKERS: '2' } });
  });
  afterAll(() => uswarm.close());

  it('is offered when the user asks for options, and the choice is answered', async () => {
    const user = await uswarm.user();
    const { messages, workspace } = await uswarm.home(user);
    const seen = async (wanted: (content: MessageContent) => boolean) => {
      const found = await eventually(
        async () => (await user.get<MessagePage>(messages)).body.data.find(({ content }) => wanted(content)),
        { until: (message) => message !== undefined, timeoutMs: 60_000 },
      );
      if (found === undefined) throw new Error('it was not seen');
      return found;
    };
    await user.post(messages, { content: { type: 'text', text: 'Give me some options' } }, 201);
    const card = await seen(({ type }) => type === 'action_card');
    const [first] = card.content.type === 'action_card' ? card.content.actions : [];
    await seen((content) => content.type === 'text' && content.text === '[demo] Please choose.');
    await user.post(`${workspace}/messages/${card.id}/action`, { action_id: first?.id }, 200);
    const answer = await seen(
      (content) => content.type === 'text' && content.text.startsWith('[demo] You asked: Continue'),
    );
    expect({ label: first?.label, role: answer.role }).toEqual({ label: 'Continue', role: 'agent' });
  });
});
