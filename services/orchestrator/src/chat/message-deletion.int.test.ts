import { describe, expect, it } from '@jest/globals';
import type { Conversation, MessageData, Workspace } from '@uswarm/contract';
import { checkServerEvent } from '@uswarm/contract/checks';
import { eventually } from '@uswarm/testkit/eventually';
import { CARD, createMessageClient, END, TOOL } from '../../test/message-client.js';
import { rowsContaining, allRows } from '../../test/database-rows.js';
import { useTurnFixture } from '../../test/turn-fixture.js';
import { upload } from '../../test/uploads.js';
import { LeaseLost } from '../turns/commit.js';
import { loadHistory } from '../turns/turns.store.js';

const world = useTurnFixture();
const { begin, events, ids, listed, pathOf, say } = createMessageClient(world);
const remove = (id: string) => world.user.delete(pathOf(id), undefined, 204);
const deletions = async () => (await events()).filter(({ event }) => event === 'message.deleted');
const conversation = async () => (await world.user.get<{ data: Conversation }>(world.home.conversation)).body.data;
const agent = () =>
  world.uswarm.database
    .selectFrom('agents')
    .select('activity')
    .where('id', '=', world.home.agents[0]?.id ?? '')
    .executeTakeFirst();
const workOfTurns = () =>
  world.uswarm.database.selectFrom('work').select('subject_id').where('kind', '=', 'turn').execute();
const answered = async (text: string) => {
  const userMessage = await say(text);
  const { writer, replyId } = await begin();
  await writer.finish(END);
  return { userMessage: userMessage.id, reply: replyId };
};

describe('GET /v1/workspaces/{workspaceId}/messages/{id}', () => {
  it('returns the message as the list does', async () => {
    const { userMessage, reply } = await answered('why?');
    const list = await listed();
    for (const id of [userMessage, reply]) {
      const { body } = await world.user.get<{ data: MessageData }>(pathOf(id));
      expect(body.data).toEqual(list.find((message) => message.id === id));
    }
  });

  it('renews the links of attachments', async () => {
    const { id } = await upload(world.user, { content: 'x' });
    const message = await say('look', { attachments: [{ id }] });
    const { body } = await world.user.get<{ data: MessageData }>(pathOf(message.id));
    const url = new URL(body.data.attachments[0]?.url ?? '', world.uswarm.url);
    expect((await fetch(url)).status).toBe(200);
  });

  it('returns message_not_found for an unknown id and for a message of another workspace', async () => {
    const { id } = await say('mine');
    const other = await world.uswarm.user();
    const home = await world.uswarm.home(other);
    expect(await world.user.refusal('GET', pathOf(crypto.randomUUID()))).toBe('message_not_found');
    expect(await other.refusal('GET', `${home.workspace}/messages/${id}`)).toBe('message_not_found');
  });
});

describe('DELETE /v1/workspaces/{workspaceId}/messages/{id}', () => {
  it('deletes a user message and leaves the agent message', async () => {
    const { userMessage, reply } = await answered('why?');
    expect((await remove(userMessage)).body).toBeUndefined();
    expect(await ids()).toEqual([reply]);
    for (const method of ['GET', 'DELETE'] as const) {
      expect(await world.user.refusal(method, pathOf(userMessage))).toBe('message_not_found');
    }
  });

  it('deletes an agent message and leaves the user message and the tool lines', async () => {
    const { id } = await say('why?');
    const { writer, replyId } = await begin();
    await writer.tool({ ...TOOL, content: { ...TOOL.content, state: 'completed' } });
    await writer.finish(END);
    const tool = (await listed()).find(({ content }) => content.type === 'tool_status');
    await remove(replyId);
    expect((await ids()).toSorted()).toEqual([id, tool?.id].toSorted());
  });

  it('removes the text from all tables and keeps the local id used', async () => {
    const text = `secret ${crypto.randomUUID()}`;
    const local_id = `local ${crypto.randomUUID()}`;
    const { id } = await say(text, { local_id });
    await remove(id);
    expect(await rowsContaining(world.uswarm.database, [text, local_id])).toEqual([]);
    const again = { content: { type: 'text', text }, local_id };
    expect(await world.user.refusal('POST', world.home.messages, again)).toBe('local_id_reused');
  });

  it('releases the attachments of the message', async () => {
    const { id, url } = await upload(world.user, { content: 'x' });
    await remove((await say('look', { attachments: [{ id }] })).id);
    const work = () => world.uswarm.database.selectFrom('work').selectAll().where('subject_id', '=', id).execute();
    // No worker runs here, so the job that checks the file stays due.
    expect(await work()).toMatchObject([{ kind: 'upload' }]);
    expect(await rowsContaining(world.uswarm.database, [id])).not.toContainEqual(
      expect.stringMatching(/^message_attachments:/),
    );
    expect(url).toContain(id);
  });

  it('announces the deletion by a durable event that is replayed, and older events become tombstones', async () => {
    const { id } = await say('secret');
    await remove(id);
    const replayed = await events();
    const deleted = replayed.find(({ event }) => event === 'message.deleted');
    expect(deleted?.payload).toEqual({
      workspace_id: world.home.workspaceId,
      seq: deleted?.seq,
      conversation_id: world.home.conversationId,
      message_id: id,
    });
    checkServerEvent('message.deleted', deleted?.payload);
    expect(replayed[0]).toMatchObject({ event: 'message.new', payload: { deleted: true, id } });
    expect(JSON.stringify(replayed)).not.toContain('secret');
  });

  it('publishes the deletion to connected gateways', async () => {
    const heard: unknown[] = [];
    await world.uswarm.bus.subscribe(world.home.workspaceId, (envelope) => {
      if (envelope.event === 'message.deleted') heard.push(envelope.payload['message_id']);
    });
    const { id } = await say('why?');
    await remove(id);
    await eventually(() => heard, { until: ({ length }) => length > 0 });
    expect(heard).toEqual([id]);
  });

  it('updates and announces the last message, the unread count and the preview of the workspace', async () => {
    const first = await answered('one');
    const { reply } = await answered('two');
    expect(await conversation()).toMatchObject({ unread_count: 2, last_message: { id: reply } });
    await remove(reply);
    expect((await conversation()).unread_count).toBe(1);
    const last = (await listed()).at(-1);
    expect((await conversation()).last_message?.id).toBe(last?.id);
    const { body } = await world.user.get<{ data: Workspace }>(world.home.workspace);
    expect(body.data.runtime.last_message_preview?.text).toBe('two');
    expect((await events()).slice(-2).map(({ event }) => event)).toEqual(['conversation.updated', 'workspace.updated']);
    for (const id of [first.userMessage, first.reply, last?.id ?? '']) await remove(id);
    expect(await conversation()).toMatchObject({ unread_count: 0, last_message: null });
  });

  it('hides the message from agents that answer later', async () => {
    const kept = await answered('one');
    const gone = await answered('two');
    await remove(gone.userMessage);
    await remove(gone.reply);
    const { id } = await say('three');
    const turn = {
      conversation_id: world.home.conversationId,
      user_message_id: id,
      agent_id: world.home.agents[0]?.id ?? '',
    };
    const history = await loadHistory(world.turnWorker.stores.database, turn, 50);
    expect(history.map((row) => row.id)).toEqual([id, kept.reply, kept.userMessage]);
  });

  it('returns message_not_found for an unknown id and for a message of another user, and changes nothing', async () => {
    const { id } = await say('mine');
    const other = await world.uswarm.user();
    const home = await world.uswarm.home(other);
    const before = await allRows(world.uswarm.database);
    for (const path of [pathOf(id), `${home.workspace}/messages/${id}`, `${home.workspace}/messages/nothing`]) {
      expect(await other.refusal('DELETE', path)).toMatch(/^(workspace|message)_not_found$/);
    }
    expect(await allRows(world.uswarm.database)).toEqual(before);
  });

  it('deletes a message once when twenty requests arrive concurrently', async () => {
    const { id } = await say('hi');
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => world.user.raw<{ code?: string }>({ method: 'DELETE', path: pathOf(id) })),
    );
    const outcomes = answers.map(({ status, body }) => body?.code ?? status);
    expect(outcomes.filter((outcome) => outcome === 204)).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'message_not_found')).toHaveLength(19);
    expect(await deletions()).toHaveLength(1);
  });
});

describe('deleting a message of an unfinished turn', () => {
  it('cancels the queued turn of a deleted user message and leaves the next turn', async () => {
    const one = await say('one');
    const two = await say('two');
    await remove(one.id);
    expect(await workOfTurns()).toHaveLength(1);
    const { writer, replyId } = await begin();
    await writer.finish(END);
    expect(await ids()).toEqual([two.id, replyId]);
  });

  it.each(['user message', 'agent message'] as const)(
    'cancels the running turn and deletes its messages when its %s is deleted',
    async (which) => {
      const userMessage = await say('why?');
      const { writer, replyId } = await begin();
      await writer.tool(TOOL);
      await writer.offer('k', CARD);
      await writer.note('n', 'A note.');
      await writer.activity('writing');
      const written = (await ids()).filter((id) => id !== userMessage.id);
      await remove(which === 'user message' ? userMessage.id : replyId);
      expect(await ids()).toEqual(which === 'user message' ? [] : [userMessage.id]);
      const deleted = (await deletions()).map(({ payload }) => payload['message_id'] as string);
      expect(deleted.toSorted()).toEqual(
        [...written, ...(which === 'user message' ? [userMessage.id] : [])].toSorted(),
      );
      expect({ jobs: await workOfTurns(), agent: await agent() }).toEqual({ jobs: [], agent: { activity: 'online' } });
    },
  );

  it('rejects later writes of the cancelled turn', async () => {
    const { id } = await say('why?');
    const { writer, replyId } = await begin();
    await writer.tool(TOOL);
    await remove(replyId);
    const before = await allRows(world.uswarm.database);
    const writes = [
      () => writer.tool({ ...TOOL, content: { ...TOOL.content, state: 'completed' } }),
      () => writer.offer('k', CARD),
      () => writer.note('n', 'A note.'),
      () => {
        writer.markRead();
        return writer.flush();
      },
      () => writer.activity('writing'),
      () => writer.finish(END),
    ];
    for (const write of writes) await expect(write()).rejects.toThrow(LeaseLost);
    expect(await allRows(world.uswarm.database)).toEqual(before);
    expect(await ids()).toEqual([id]);
  });

  it('rejects a tool line of a running turn with turn_running, and deletes it after the turn ended', async () => {
    await say('why?');
    const { writer } = await begin();
    await writer.tool(TOOL);
    const tool = (await listed()).find(({ content }) => content.type === 'tool_status')?.id ?? '';
    const before = await allRows(world.uswarm.database);
    expect(await world.user.refusal('DELETE', pathOf(tool))).toBe('turn_running');
    expect(await allRows(world.uswarm.database)).toEqual(before);
    await writer.finish(END);
    await remove(tool);
    expect(await ids()).not.toContain(tool);
  });

  it.each([
    ['is online after its only open card is deleted', 1, 'online'],
    ['remains pending while another card of the same turn is open', 2, 'pending'],
  ])('the agent %s', async (_title, cards, activity) => {
    await say('what?');
    const { writer } = await begin();
    for (let n = 0; n < cards; n += 1) await writer.offer(`k${n}`, CARD);
    await writer.finish(END);
    expect(await agent()).toEqual({ activity: 'pending' });
    const card = (await listed()).find(({ content }) => content.type === 'action_card')?.id ?? '';
    await remove(card);
    expect(await agent()).toEqual({ activity });
  });

  it('leaves the agent pending when the deleted agent message has an open card', async () => {
    await say('what?');
    const { writer, replyId } = await begin();
    await writer.offer('k', CARD);
    await writer.finish(END);
    await remove(replyId);
    expect(await agent()).toEqual({ activity: 'pending' });
    await remove((await listed()).find(({ content }) => content.type === 'action_card')?.id ?? '');
    expect(await agent()).toEqual({ activity: 'online' });
  });
});

describe('deleting a message while its turn runs', () => {
  const STEPS = 6;

  /** Writes a complete reply. `atStep` runs before step number `step`. */
  async function writeAll(step: number, atStep: () => void): Promise<'finished' | 'lost'> {
    const work = await world.turnWorker.claim();
    const writer = await world.turnWorker.writerOf(work);
    const steps: (() => Promise<unknown>)[] = [
      () => writer.begin(),
      () => (writer.markRead(), writer.flush()),
      () => writer.tool(TOOL),
      () => writer.offer('k', CARD),
      () => writer.note('n', 'A note.'),
      () => writer.finish(END),
    ];
    try {
      for (const [index, run] of steps.entries()) {
        if (index === step) atStep();
        await run();
      }
      return 'finished';
    } catch (error) {
      if (error instanceof LeaseLost) return 'lost';
      throw error;
    }
  }

  it.each(Array.from({ length: STEPS }, (_, step) => step))(
    'either cancels the turn and deletes its messages, or deletes only the user message of the finished turn (step %i)',
    async (step) => {
      for (let round = 0; round < 4; round += 1) {
        const userMessage = await say('why?');
        const before = (await events()).length - 1;
        let deletion: Promise<unknown> = Promise.resolve();
        const written = await writeAll(step, () => (deletion = remove(userMessage.id)));
        await deletion;
        const left = await listed();
        expect(left.some(({ id, status }) => id === userMessage.id || status === 'pending')).toBe(false);
        expect({ written, hasMessages: left.length > 0 }).toEqual({ written, hasMessages: written === 'finished' });
        expect(await workOfTurns()).toEqual([]);
        // Every message that was announced is either listed or announced as deleted.
        const told = (await events()).slice(before);
        const created = told.filter(({ event }) => event === 'message.new').length;
        const gone = told.filter(({ event }) => event === 'message.deleted').length;
        expect(created - gone).toBe(left.length);
        for (const { id } of left) await remove(id);
      }
    },
  );

  it('does not deadlock with stops, reads, sends and the deletion of the conversation', async () => {
    const userMessages = [];
    for (let n = 0; n < 6; n += 1) userMessages.push((await say(`message ${n}`)).id);
    const { writer } = await begin();
    const post = (path: string, body?: object) =>
      world.user.raw<{ code?: string }>({
        method: 'POST',
        path,
        headers: { 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    const answers = await Promise.all([
      ...userMessages.map((id) => world.user.raw<{ code?: string }>({ method: 'DELETE', path: pathOf(id) })),
      ...userMessages.map((id) => post(`${pathOf(id)}/stop`)),
      post(`${world.home.conversation}/read`),
      ...Array.from({ length: 5 }, (_, n) =>
        post(world.home.messages, { content: { type: 'text', text: `new ${n}` } }),
      ),
      writer.finish(END).then(
        () => ({ status: 204, body: undefined }),
        (error: unknown) => {
          if (!(error instanceof LeaseLost)) throw error;
          return { status: 204, body: undefined };
        },
      ),
      world.user.raw<{ code?: string }>({ method: 'DELETE', path: world.home.conversation }),
    ]);
    const expected = [201, 204, 'message_not_found', 'turn_not_running', 'conversation_not_found'];
    expect(answers.map(({ status, body }) => body?.code ?? status).filter((code) => !expected.includes(code))).toEqual(
      [],
    );
    const { database } = world.uswarm;
    expect(
      await database.selectFrom('messages').select('id').where('workspace_id', '=', world.home.workspaceId).execute(),
    ).toEqual([]);
    const seqs = (await events()).map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
  });
});
