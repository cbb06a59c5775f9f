import { describe, expect, it } from '@jest/globals';
import type { MessagePage } from '@uswarm/contract';
import { giveTask } from '../../test/delegated-turn.js';
import { TURN_CONTEXT } from '../../test/turn-context.js';
import { ASKED } from '../../test/message-client.js';
import { useTurnFixture } from '../../test/turn-fixture.js';
import { createWithTransaction } from '../platform/database/transaction.js';
import { approvalCard, callHash } from '../records/approval-card.js';
import { findOpenDelegations } from './delegations/delegations.store.js';
import { findToolCall } from './tools/tool-calls.store.js';
import { requestStop } from '../records/turn-rows.js';
import { getTurn, isStopRequested } from './turns.store.js';

describe('a turn that waits for a task or for the user', () => {
  const world = useTurnFixture();
  const messages = async () =>
    (await world.user.get<MessagePage>(`${world.home.messages}?direction=forward`)).body.data;
  const messageOf = async (type: string) => (await messages()).find(({ content }) => content.type === type)!;
  const remove = ({ id }: { id: string }) =>
    world.user.delete(`${world.home.workspace}/messages/${id}`, undefined, 204);
  const agent = () =>
    world.uswarm.database
      .selectFrom('agents')
      .select('activity')
      .where('id', '=', world.home.agents[0]!.id)
      .executeTakeFirst();
  const turnJobs = () =>
    world.uswarm.database.selectFrom('work').select('subject_id').where('kind', '=', 'turn').execute();

  async function begin() {
    await world.user.post(world.home.messages, { content: { type: 'text', text: 'go' } }, 201);
    const job = await world.turnWorker.claim();
    const writer = await world.turnWorker.writerOf(job);
    await writer.begin();
    await writer.setInstance({ instance: { id: 'i', budgeted: false, context: TURN_CONTEXT }, untrusted: [] });
    await writer.entry(1, { number: 1, kind: 'step', body: '{}' });
    return { turn: await world.turnWorker.turnOf(job), writer, job };
  }

  async function delegated() {
    const { turn, job } = await begin();
    const { stores } = world.turnWorker;
    expect(await giveTask(stores, { turn }, createWithTransaction(world.uswarm.database))).toBeUndefined();
    const [task] = await findOpenDelegations(world.uswarm.database, turn.id);
    return { turn, writer: await world.turnWorker.writerOf(job), task: task! };
  }

  it('continues with a failed result if the user deletes the message of its task', async () => {
    const { turn, writer, task } = await delegated();
    expect(await writer.suspend('', [task.callId])).toBeDefined();
    await remove({ id: task.messageId });
    const continued = await world.turnWorker.turnOf(await world.turnWorker.claim());
    expect(continued).toMatchObject({ user_message_id: turn.user_message_id, shown_entries: 1 });
    const outcome = await findToolCall(world.uswarm.database, continued.id, task.callId);
    expect(outcome).toMatchObject({ failed: true, text: 'The user stopped the task.' });
  });

  it('ends with its task if the user deletes the message that it answers', async () => {
    const { turn, writer, task } = await delegated();
    expect(await writer.suspend('', [task.callId])).toBeDefined();
    await remove({ id: turn.user_message_id });
    expect({ jobs: await turnJobs(), agent: await agent() }).toEqual({ jobs: [], agent: { activity: 'online' } });
  });

  it('is stopped, with its task, if the user stops it just before it begins to wait', async () => {
    const { turn, writer, task } = await delegated();
    const { database } = world.uswarm;
    await requestStop(database, turn.id);
    expect(await writer.suspend('So far.', [task.callId])).toBeDefined();
    expect(await getTurn(world.turnWorker.stores.database, turn.id)).toMatchObject({ status: 'stopped' });
    expect(await isStopRequested(database, task.turnId)).toBe(true);
    const reply = (await messages()).find(({ content }) => content.type === 'text' && content.text === 'So far.');
    expect(reply).toMatchObject({ extended_status: 'incomplete', error: { code: 'stopped' } });
  });

  it('withdraws its card if the user stops it just before it begins to wait', async () => {
    const { turn, writer } = await begin();
    const card = approvalCard({ title: 'Send', changes: [] }, ASKED);
    const argumentsHash = callHash('send', 'c1');
    await writer.ask({ id: 'c1', tool: 'send', argumentsHash, card, key: undefined, integrationId: undefined });
    await requestStop(world.uswarm.database, turn.id);
    expect(await writer.suspend('', ['c1'])).toBeDefined();
    expect(await messageOf('action_card')).toMatchObject({ extended_status: 'failed', error: { code: 'withdrawn' } });
  });

  it('lets no other agent answer if the user stops it just before it hands over', async () => {
    const { turn, writer } = await begin();
    await requestStop(world.uswarm.database, turn.id);
    await writer.handOver('', world.home.agents[1]!.id);
    expect(await getTurn(world.turnWorker.stores.database, turn.id)).toMatchObject({ status: 'stopped' });
    expect(await turnJobs()).toEqual([]);
  });
});
