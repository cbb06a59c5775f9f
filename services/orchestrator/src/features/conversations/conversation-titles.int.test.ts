import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { BusEnvelope, Conversation } from '@uswarm/contract';
import { eventually } from '../../../test/eventually.js';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';

describe('the title of a conversation', () => {
  let uswarm: TestOrchestrator;
  let user: TestUser;
  let home: Home;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
  });
  beforeEach(async () => {
    user = await uswarm.user();
    home = await uswarm.home(user);
  });
  afterAll(() => uswarm.close());

  const conversations = () => `${home.workspace}/conversations`;
  const create = async (body: object) =>
    (await user.post<{ data: Conversation }>(conversations(), body, 201)).body.data;
  const titleOf = async (id: string) =>
    (await user.get<{ data: Conversation }>(`${conversations()}/${id}`)).body.data.title;
  const say = (id: string, text: string) =>
    user.post(`${conversations()}/${id}/messages`, { content: { type: 'text', text } }, 201);
  const rename = async (id: string, title: string | null) =>
    (await user.patch<{ data: Conversation }>(`${conversations()}/${id}`, { title }, 200)).body.data.title;

  it('is the name of the agent or the workspace before the first message', async () => {
    const agent = await create({ type: 'agent', agent_id: home.agents[1]?.id });
    expect([agent.title, await titleOf(home.conversationId)]).toEqual(['Researcher', 'My workspace']);
  });

  it('is the first words of the first message, so that two chats with one agent can be told apart', async () => {
    const body = { type: 'agent', agent_id: home.agents[1]?.id };
    const [trip, taxes] = [await create(body), await create(body)];
    await say(trip.id, 'Plan a trip\nto the sea');
    await say(taxes.id, 'Explain my taxes');
    await say(trip.id, 'And something else');
    expect([await titleOf(trip.id), await titleOf(taxes.id)]).toEqual(['Plan a trip to the sea', 'Explain my taxes']);
  });

  it('can be set when the conversation is created, and then stays', async () => {
    const { id, title } = await create({ type: 'swarm', title: ' My\u202E plans ' });
    await say(id, 'hello');
    expect([title, await titleOf(id)]).toEqual(['My plans', 'My plans']);
  });

  it('can be set and reset, to the first words of the first message or to the name of before', async () => {
    const { id } = await create({ type: 'swarm' });
    expect([await rename(id, 'Plans'), await rename(id, null)]).toEqual(['Plans', 'My workspace']);
    await say(id, 'first words');
    await say(id, 'other words');
    expect(await rename(id, 'Plans')).toBe('Plans');
    await say(id, 'more words');
    expect([await titleOf(id), await rename(id, null)]).toEqual(['Plans', 'first words']);
    const row = await uswarm.database
      .selectFrom('conversations')
      .select('title_source')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    expect(row.title_source).toBe('first_message');
  });

  it('that is not sent stays', async () => {
    await rename(home.conversationId, 'Plans');
    const { body } = await user.patch<{ data: Conversation }>(home.conversation, {}, 200);
    expect(body.data.title).toBe('Plans');
  });

  it('is told to other devices when it is set', async () => {
    const seen: BusEnvelope[] = [];
    await uswarm.bus.subscribe(home.workspaceId, (envelope) => void seen.push(envelope));
    await rename(home.conversationId, 'Plans');
    const updated = () => seen.find((envelope) => envelope.event === 'conversation.updated');
    expect(await eventually(updated, (event) => event !== undefined)).toMatchObject({
      payload: { conversation: { id: home.conversationId, title: 'Plans' } },
    });
  });

  it.each(['', ' ', '\u200b', 'x'.repeat(201), 7])('is refused: %j', async (title) => {
    expect(await user.refusal('PATCH', home.conversation, { title })).toBe('validation_failed');
    expect(await user.refusal('POST', conversations(), { type: 'swarm', title })).toBe('validation_failed');
  });

  it('of an absent conversation is conversation_not_found', async () => {
    expect(await user.refusal('PATCH', `${conversations()}/${crypto.randomUUID()}`, { title: 'x' })).toBe(
      'conversation_not_found',
    );
  });
});
