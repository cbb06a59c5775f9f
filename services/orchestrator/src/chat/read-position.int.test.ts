import { describe, expect, it } from '@jest/globals';
import type { Conversation, MessagePage, ReplayedEvent, Workspace } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import type { TestUser } from '../../test/test-orchestrator.js';
import { useTurnFixture } from '../../test/turn-fixture.js';
import { createWithTransaction } from '../platform/database/transaction.js';
import type { TurnWriter } from '../turns/writer/turn-writes.js';
import { NO_PUSH } from '../records/push-jobs.js';
import { createMarkRead } from './read-position.js';
import { findReadState } from './read-position.store.js';
import * as readPositionRecords from './read-position.store.js';

const DONE = { turnStatus: 'done', messageStatus: 'delivered', errorCode: null } as const;

describe('the read position', () => {
  const world = useTurnFixture();

  const read = (of: TestUser = world.user) => of.post(`${world.home.conversation}/read`, undefined, 204);
  const unread = async () =>
    (await world.user.get<{ data: Conversation }>(world.home.conversation)).body.data.unread_count;
  /** Sends a message and starts its turn. */
  const begun = async (path = world.home.messages): Promise<TurnWriter> => {
    await world.user.post(path, { content: { type: 'text', text: 'why?' } }, 201);
    // Concurrent tests can hold locks on due jobs for a moment.
    const work = await eventually(() => world.turnWorker.claim().catch(() => undefined), {
      until: (claimed) => claimed !== undefined,
    });
    if (work === undefined) throw new Error('there is nothing to answer');
    const writer = await world.turnWorker.writerOf(work);
    await writer.begin();
    return writer;
  };
  const replied = async () => (await begun()).finish({ ...DONE, text: 'Because.' });
  const events = async () =>
    (await world.user.get<{ data: ReplayedEvent[] }>(`${world.home.workspace}/events`)).body.data;

  it('REST-031 POST /v1/workspaces/{workspaceId}/conversations/{id}/read returns 204 and resets the unread count', async () => {
    await replied();
    await replied();
    expect(await unread()).toBe(2);
    expect((await read()).body).toBeUndefined();
    expect(await unread()).toBe(0);
  });

  it('is announced with the updated conversation', async () => {
    await replied();
    await read();
    expect((await events()).at(-1)).toMatchObject({
      event: 'conversation.updated',
      payload: { conversation: { id: world.home.conversationId, unread_count: 0 } },
    });
  });

  it('is not announced again if nothing was unread', async () => {
    await replied();
    await read();
    const before = await events();
    await read();
    expect(await events()).toEqual(before);
  });

  it('is announced with the workspace if an answer is completed concurrently', async () => {
    await replied();
    await read();
    const writer = await begun();
    const { database, events: eventStore } = world.turnWorker.stores;
    let isFinished = false;
    const markRead = createMarkRead({
      withTransaction: createWithTransaction(world.uswarm.database),
      database,
      store: {
        ...readPositionRecords,
        async findReadState(...of) {
          const state = await findReadState(...of);
          // After the first read of the state, before the transaction, which reads it again.
          if (!isFinished) await writer.finish({ ...DONE, text: 'Because.' });
          isFinished = true;
          return state;
        },
      },
      events: eventStore,
      access: { require: () => Promise.resolve() },
      push: NO_PUSH,
    });
    await markRead({ userId: '', workspaceId: world.home.workspaceId, conversationId: world.home.conversationId });
    const announced = (await events()).filter(({ event }) => event === 'workspace.updated');
    expect(await unread()).toBe(0);
    expect(announced.at(-1)?.seq).toBe(((await events()).at(-1)?.seq ?? 0) - 1);
  });

  it('does not change the order of the list', async () => {
    await replied();
    const before = (await world.user.get<{ data: Conversation }>(world.home.conversation)).body.data.updated_at;
    await read();
    expect((await world.user.get<{ data: Conversation }>(world.home.conversation)).body.data.updated_at).toBe(before);
  });

  it('is before a reply that is still loading', async () => {
    await replied();
    const writer = await begun();
    await read();
    expect(await unread()).toBe(0);
    await writer.finish({ ...DONE, text: 'Because.' });
    expect(await unread()).toBe(1);
  });

  it('does not count a silent reply', async () => {
    await (await begun()).finish({ ...DONE, messageStatus: 'silent', text: '' });
    expect(await unread()).toBe(0);
  });

  it('counts a reply that reports a failure', async () => {
    await (await begun()).finish({ turnStatus: 'failed', messageStatus: 'failed', text: 'Sorry.', errorCode: 'x' });
    expect(await unread()).toBe(1);
  });

  it('is separate per conversation', async () => {
    const made = await world.user.post<{ data: Conversation }>(
      `${world.home.workspace}/conversations`,
      { type: 'swarm' },
      201,
    );
    const other = `${world.home.workspace}/conversations/${made.body.data.id}`;
    await replied();
    await (await begun(`${other}/messages`)).finish({ ...DONE, text: 'Because.' });
    await read();
    expect({
      unread: await unread(),
      other: (await world.user.get<{ data: Conversation }>(other)).body.data.unread_count,
    }).toEqual({ unread: 0, other: 1 });
  });

  it('is exact during concurrent turns and reads: only replies after the last read are unread', async () => {
    const paths = [world.home.messages];
    for (let n = 0; n < 5; n += 1) {
      const made = await world.user.post<{ data: Conversation }>(
        `${world.home.workspace}/conversations`,
        { type: 'swarm' },
        201,
      );
      paths.push(`${world.home.workspace}/conversations/${made.body.data.id}/messages`);
    }
    const counts: number[] = [];
    // Each conversation completes one turn after another. The first conversation is read concurrently.
    const replies = paths.map(async (path) => {
      for (let n = 0; n < 4; n += 1) await (await begun(path)).finish({ ...DONE, text: 'Because.' });
    });
    const reads = Array.from({ length: 4 }, async () => {
      for (let n = 0; n < 6; n += 1) {
        await read();
        counts.push(await unread());
      }
    });
    await Promise.all([...replies, ...reads]);
    const all = await events();
    const done = all.filter(
      ({ event, payload }) => event === 'message.done' && payload['conversation_id'] === world.home.conversationId,
    );
    const position = all.findLast(({ event }) => event === 'conversation.updated')?.seq ?? 0;
    expect(await unread()).toBe(done.filter(({ seq }) => seq > position).length);
    expect(counts.every((count) => count >= 0 && count <= 4)).toBe(true);
    await read();
    expect(await unread()).toBe(0);
    expect(done).toHaveLength(4);
  });

  describe('up to a message', () => {
    const readTo = (message_id: string) => world.user.post(`${world.home.conversation}/read`, { message_id }, 204);
    const conversation = async () => (await world.user.get<{ data: Conversation }>(world.home.conversation)).body.data;
    const workspaceUnread = async () =>
      (await world.user.get<{ data: Workspace }>(world.home.workspace)).body.data.unread_count;
    const ids = async () =>
      (await world.user.get<MessagePage>(`${world.home.messages}?direction=forward`)).body.data.map(({ id }) => id);

    it('reads up to and including the message and leaves later answers unread', async () => {
      for (let n = 0; n < 3; n += 1) await replied();
      const [, first, userMessage, second] = await ids();
      expect(await conversation()).toMatchObject({ unread_count: 3, last_read_message_id: null });
      await readTo(first ?? '');
      expect(await conversation()).toMatchObject({ unread_count: 2, last_read_message_id: first });
      await readTo(userMessage ?? '');
      expect(await conversation()).toMatchObject({ unread_count: 2, last_read_message_id: userMessage });
      await readTo(second ?? '');
      expect(await conversation()).toMatchObject({ unread_count: 1, last_read_message_id: second });
    });

    it('never moves back, and announces nothing then', async () => {
      for (let n = 0; n < 2; n += 1) await replied();
      const [, first, , second] = await ids();
      await readTo(second ?? '');
      const before = await events();
      await readTo(first ?? '');
      expect(await conversation()).toMatchObject({ unread_count: 0, last_read_message_id: second });
      expect(await events()).toEqual(before);
    });

    it('reads everything without a message, the newest one included', async () => {
      await replied();
      await read();
      expect((await conversation()).last_read_message_id).toBe((await ids()).at(-1));
    });

    it('does not read a reply that is still loading', async () => {
      const writer = await begun();
      await read();
      const [userMessage] = await ids();
      expect((await conversation()).last_read_message_id).toBe(userMessage);
      await writer.finish({ ...DONE, text: 'Because.' });
      expect(await conversation()).toMatchObject({ unread_count: 1, last_read_message_id: userMessage });
    });

    it('changes the total of the workspace, with an event for other devices', async () => {
      for (let n = 0; n < 2; n += 1) await replied();
      expect(await workspaceUnread()).toBe(2);
      await readTo((await ids())[1] ?? '');
      expect(await workspaceUnread()).toBe(1);
      expect((await events()).slice(-2)).toMatchObject([
        { event: 'workspace.updated', payload: { workspace: { unread_count: 1 } } },
        { event: 'conversation.updated', payload: { conversation: { unread_count: 1 } } },
      ]);
    });

    it('has no last read message after that message is deleted', async () => {
      await replied();
      await read();
      const [userMessage, reply] = await ids();
      await world.user.delete(`${world.home.workspace}/messages/${reply}`, undefined, 204);
      expect(await conversation()).toMatchObject({ unread_count: 0, last_read_message_id: userMessage });
    });

    it('rejects a message of another conversation and an unknown one with message_not_found', async () => {
      await replied();
      const [first] = await ids();
      const path = `${world.home.workspace}/conversations`;
      const made = await world.user.post<{ data: Conversation }>(path, { type: 'swarm' }, 201);
      const other = `${path}/${made.body.data.id}/read`;
      for (const message_id of [first, crypto.randomUUID()]) {
        expect(await world.user.refusal('POST', other, { message_id })).toBe('message_not_found');
      }
      expect(await unread()).toBe(1);
    });
  });

  it('cannot be set by another user: the conversation is not found and stays unread', async () => {
    await replied();
    const otherUser = await world.uswarm.user();
    const own = await world.uswarm.home(otherUser);
    for (const path of [world.home.conversation, `${own.workspace}/conversations/${world.home.conversationId}`]) {
      expect(await otherUser.refusal('POST', `${path}/read`)).toMatch(/^(workspace|conversation)_not_found$/);
    }
    expect(await unread()).toBe(1);
  });
});
