import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { BusEnvelope, Conversation } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../test/test-orchestrator.js';

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
    expect({ agent: agent.title, swarm: await titleOf(home.conversationId) }).toEqual({
      agent: 'Researcher',
      swarm: 'My workspace',
    });
  });

  it('is the beginning of the first message, which distinguishes conversations with the same agent', async () => {
    const body = { type: 'agent', agent_id: home.agents[1]?.id };
    const [trip, taxes] = [await create(body), await create(body)];
    await say(trip.id, 'Plan a trip\nto the sea');
    await say(taxes.id, 'Explain my taxes');
    await say(trip.id, 'And something else');
    expect({ trip: await titleOf(trip.id), taxes: await titleOf(taxes.id) }).toEqual({
      trip: 'Plan a trip to the sea',
      taxes: 'Explain my taxes',
    });
  });

  it('can be set when the conversation is created, and does not change afterwards', async () => {
    const { id, title } = await create({ type: 'swarm', title: ' My\u202E plans ' });
    await say(id, 'hello');
    expect({ created: title, stored: await titleOf(id) }).toEqual({ created: 'My plans', stored: 'My plans' });
  });

  it('can be set, and reset to the beginning of the first message or to the default name', async () => {
    const { id } = await create({ type: 'swarm' });
    expect({ renamed: await rename(id, 'Plans'), reset: await rename(id, null) }).toEqual({
      renamed: 'Plans',
      reset: 'My workspace',
    });
    await say(id, 'first words');
    await say(id, 'other words');
    expect(await rename(id, 'Plans')).toBe('Plans');
    await say(id, 'more words');
    expect({ before: await titleOf(id), reset: await rename(id, null) }).toEqual({
      before: 'Plans',
      reset: 'first words',
    });
    const row = await uswarm.database
      .selectFrom('conversations')
      .select('title_source')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    expect(row.title_source).toBe('first_message');
  });

  it('does not change if it is absent from the request', async () => {
    await rename(home.conversationId, 'Plans');
    const { body } = await user.patch<{ data: Conversation }>(home.conversation, {}, 200);
    expect(body.data.title).toBe('Plans');
  });

  it('is announced to other devices when it is set', async () => {
    const seen: BusEnvelope[] = [];
    await uswarm.bus.subscribe(home.workspaceId, (envelope) => void seen.push(envelope));
    await rename(home.conversationId, 'Plans');
    const updated = () => seen.find((envelope) => envelope.event === 'conversation.updated');
    expect(await eventually(updated, { until: (event) => event !== undefined })).toMatchObject({
      payload: { conversation: { id: home.conversationId, title: 'Plans' } },
    });
  });

  it.each(['', ' ', '\u200b', 'x'.repeat(201), 7])('is rejected if it is %j', async (title) => {
    expect(await user.refusal('PATCH', home.conversation, { title })).toBe('validation_failed');
    expect(await user.refusal('POST', conversations(), { type: 'swarm', title })).toBe('validation_failed');
  });

  it('returns conversation_not_found for an unknown conversation', async () => {
    expect(await user.refusal('PATCH', `${conversations()}/${crypto.randomUUID()}`, { title: 'x' })).toBe(
      'conversation_not_found',
    );
  });
});
