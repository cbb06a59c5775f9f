import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Conversation, MessageData, ReplayedEvent } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { sql } from 'kysely';
import { rowsContaining, allRows } from '../../test/database-rows.js';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../test/test-orchestrator.js';
import { createTestTurnWorker, type TestTurnWorker } from '../../test/turn-fixture.js';
import { linkRefusal, upload } from '../../test/uploads.js';
import { createStores } from '../../test/stores.js';
import { createWithTransaction } from '../platform/database/transaction.js';
import { createWorkspaceAccess } from '../workspaces/workspace-access.js';
import { createConversationDeletion } from './conversation-deletion.js';
import { LeaseLost } from '../turns/commit.js';
import { trimOldestMessages } from '../records/messages.store.js';

describe('a deleted conversation', () => {
  let uswarm: TestOrchestrator;
  let turnWorker: TestTurnWorker;
  let user: TestUser;
  let home: Home;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ environment: { UPKEEP_WORKERS: '1' } });
    turnWorker = createTestTurnWorker(uswarm.database);
  });
  afterAll(() => uswarm.close());

  const signUp = async () => {
    await uswarm.database.deleteFrom('work').where('kind', '=', 'turn').execute();
    user = await uswarm.user();
    home = await uswarm.home(user);
  };
  const say = async (text: string, more: object = {}, path = home.messages) =>
    (await user.post<{ data: MessageData }>(path, { content: { type: 'text', text }, ...more }, 201)).body.data;
  const another = async () => {
    const path = `${home.workspace}/conversations`;
    const { id } = (await user.post<{ data: Conversation }>(path, { type: 'swarm' }, 201)).body.data;
    return `${path}/${id}`;
  };
  const remove = (path = home.conversation) => user.delete(path, undefined, 204);
  const types = async () =>
    (await user.get<{ data: ReplayedEvent[] }>(`${home.workspace}/events`)).body.data.map(({ event }) => event);

  it('REST-030 DELETE /v1/workspaces/{workspaceId}/conversations/{id} returns 204 and deletes it', async () => {
    await signUp();
    await say('hi');
    expect((await remove()).body).toBeUndefined();
    for (const path of ['', '/messages', '/messages/search?q=hi']) {
      expect(await user.refusal('GET', `${home.conversation}${path}`)).toBe('conversation_not_found');
    }
    expect((await user.get<{ data: Conversation[] }>(`${home.workspace}/conversations`)).body.data).toEqual([]);
    expect(await user.refusal('DELETE', home.conversation)).toBe('conversation_not_found');
  });

  it('leaves no message text in any table', async () => {
    await signUp();
    const text = `secret ${crypto.randomUUID()}`;
    const localId = `local ${crypto.randomUUID()}`;
    await say(text, { local_id: localId });
    const writer = await turnWorker.writerOf(await turnWorker.claim());
    await writer.begin();
    await writer.finish({ turnStatus: 'done', messageStatus: 'delivered', text: `Re: ${text}`, errorCode: null });
    expect(await rowsContaining(uswarm.database, [text, localId])).not.toEqual([]);
    await remove();
    expect(await rowsContaining(uswarm.database, [text, localId])).toEqual([]);
  });

  it('is announced by one event after all others, which contains the workspace without it', async () => {
    await signUp();
    await say('hi');
    await remove();
    const events = (await user.get<{ data: ReplayedEvent[] }>(`${home.workspace}/events`)).body.data;
    expect(events.at(-1)).toEqual({
      seq: 2,
      event: 'conversation.deleted',
      payload: {
        workspace_id: home.workspaceId,
        seq: 2,
        conversation_id: home.conversationId,
        workspace: expect.objectContaining({ id: home.workspaceId, rev: 2, unread_count: 0 }),
      },
    });
  });

  it('deletes its attachments', async () => {
    await signUp();
    const { id, url } = await upload(user, { content: 'x' });
    await say('look', { attachments: [{ id }] });
    await remove();
    const left = () => rowsContaining(uswarm.database, [id]);
    expect(await eventually(left, { until: ({ length }) => length === 0 })).toEqual([]);
    expect(await linkRefusal(uswarm.url, url)).toBe('upload_not_found');
  });

  it('keeps an attachment that another message has', async () => {
    await signUp();
    const { id } = await upload(user, { content: 'x' });
    await say('look', { attachments: [{ id }] });
    const kept = await say('look', { attachments: [{ id }] }, `${await another()}/messages`);
    await remove();
    await eventually(() => uswarm.database.selectFrom('work').selectAll().where('kind', '=', 'upload').execute(), {
      until: (rows) => rows.length === 0,
    });
    expect(await rowsContaining(uswarm.database, [kept.id])).toContainEqual(
      expect.stringMatching(/^message_attachments:/),
    );
  });

  describe('with messages', () => {
    it('keeps their local ids used: the same id is rejected in another conversation', async () => {
      await signUp();
      await say('hi', { local_id: 'once' });
      await remove();
      const path = `${await another()}/messages`;
      const before = await allRows(uswarm.database);
      const body = { content: { type: 'text', text: 'other' }, local_id: 'once' };
      expect(await user.refusal('POST', path, body)).toBe('local_id_reused');
      expect(await allRows(uswarm.database)).toEqual(before);
    });

    it('keeps their local ids used for a client that sends to it again, which receives conversation_not_found', async () => {
      await signUp();
      await say('hi', { local_id: 'once' });
      await remove();
      const body = { content: { type: 'text', text: 'hi' }, local_id: 'once' };
      expect(await user.refusal('POST', home.messages, body)).toBe('conversation_not_found');
    });

    it('keeps their local ids free for other users', async () => {
      await signUp();
      await say('hi', { local_id: 'once' });
      await remove();
      await signUp();
      expect((await say('hi', { local_id: 'once' })).local_id).toBe('once');
    });

    it('keeps their local ids used if the same id is sent concurrently to another conversation', async () => {
      for (let round = 0; round < 5; round += 1) {
        await signUp();
        await say('hi', { local_id: 'once' });
        const path = `${await another()}/messages`;
        const body = { content: { type: 'text', text: 'other' }, local_id: 'once' };
        const [, ...codes] = await Promise.all([
          remove(),
          ...Array.from({ length: 5 }, () => user.refusal('POST', path, body)),
        ]);
        expect(new Set(codes)).toEqual(new Set(['local_id_reused']));
      }
    });
  });

  describe('with turns', () => {
    it('cancels the queued ones', async () => {
      await signUp();
      for (const text of ['one', 'two']) await say(text);
      await remove();
      const rows = await rowsContaining(uswarm.database, [home.conversationId]);
      expect(rows.map((row) => row.slice(0, row.indexOf(':')))).toEqual(['workspace_events']);
    });

    it('cancels the running ones: they store nothing more, and the agent is online', async () => {
      await signUp();
      await say('why?');
      const writer = await turnWorker.writerOf(await turnWorker.claim());
      await writer.begin();
      await writer.activity('writing');
      await remove();
      const before = await allRows(uswarm.database);
      const end = { turnStatus: 'done', messageStatus: 'delivered', text: 'Because.', errorCode: null } as const;
      writer.markRead();
      for (const write of [() => writer.flush(), () => writer.finish(end), () => writer.activity('thinking')]) {
        await expect(write()).rejects.toThrow(LeaseLost);
      }
      expect(await allRows(uswarm.database)).toEqual(before);
      const agent = uswarm.database
        .selectFrom('agents')
        .select('activity')
        .where('id', '=', home.agents[0]?.id ?? '');
      expect(await agent.executeTakeFirst()).toEqual({ activity: 'online' });
    });

    it.each([
      ['in it', 'online', true],
      ['in another conversation', 'pending', false],
    ])('cancels one with an open card %s: the agent is %s', async (_where, activity, here) => {
      await signUp();
      const other = `${await another()}/messages`;
      await say('what?', {}, here ? home.messages : other);
      const writer = await turnWorker.writerOf(await turnWorker.claim());
      await writer.begin();
      const actions = [{ id: 'a', label: 'A', style: 'primary' as const }];
      await writer.offer('k', { type: 'action_card', title: 't', description: '', actions });
      await writer.finish({ turnStatus: 'done', messageStatus: 'delivered', text: 'Choose.', errorCode: null });
      await remove();
      const agent = uswarm.database.selectFrom('agents').select('activity');
      expect(await agent.where('id', '=', home.agents[0]?.id ?? '').executeTakeFirst()).toEqual({ activity });
    });

    it('does not change the activity of an agent that runs another turn', async () => {
      await signUp();
      await say('why?');
      await (await turnWorker.writerOf(await turnWorker.claim())).begin();
      await say('and?', {}, `${await another()}/messages`);
      const elsewhere = await turnWorker.writerOf(await turnWorker.claim());
      await elsewhere.begin();
      await elsewhere.activity('thinking');
      await remove();
      const agent = uswarm.database
        .selectFrom('agents')
        .select('activity')
        .where('id', '=', home.agents[0]?.id ?? '');
      expect(await agent.executeTakeFirst()).toEqual({ activity: 'thinking' });
    });
  });

  it('is deleted once by twenty concurrent requests', async () => {
    await signUp();
    await say('hi');
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => user.raw<{ code?: string }>({ method: 'DELETE', path: home.conversation })),
    );
    const outcomes = answers.map(({ status, body }) => body?.code ?? status);
    expect(outcomes.filter((outcome) => outcome === 204)).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'conversation_not_found')).toHaveLength(19);
    expect((await types()).filter((type) => type === 'conversation.deleted')).toHaveLength(1);
  });

  it('contains no messages after a deletion concurrent with sends, turns and reads', async () => {
    await signUp();
    await say('hi');
    const writer = await turnWorker.writerOf(await turnWorker.claim());
    await writer.begin();
    const sends = Array.from({ length: 15 }, (_, n) =>
      user.raw<{ code?: string }>({
        method: 'POST',
        path: home.messages,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ content: { type: 'text', text: `message ${n}` } }),
      }),
    );
    const reads = Array.from({ length: 5 }, () =>
      user.raw<{ code?: string }>({ method: 'POST', path: `${home.conversation}/read` }),
    );
    const end = { turnStatus: 'done', messageStatus: 'delivered', text: 'Because.', errorCode: null } as const;
    const [written, ...answers] = await Promise.all([
      writer.finish(end).then(
        () => 'written',
        (error: unknown) => (error instanceof LeaseLost ? 'lost' : String(error)),
      ),
      remove(),
      ...sends,
      ...reads,
    ]);
    expect(['written', 'lost']).toContain(written);
    const codes = answers.map(({ status, body }) => (body as { code?: string } | undefined)?.code ?? status);
    expect(codes.filter((code) => ![201, 204, 'conversation_not_found'].includes(code))).toEqual([]);
    expect(
      await uswarm.database.selectFrom('messages').select('id').where('workspace_id', '=', home.workspaceId).execute(),
    ).toEqual([]);
    const seqs = (await user.get<{ data: ReplayedEvent[] }>(`${home.workspace}/events`)).body.data;
    expect(seqs.map(({ seq }) => seq)).toEqual(seqs.map((_, index) => index + 1));
  });

  it('can have many messages', async () => {
    await signUp();
    await sql`
      INSERT INTO messages (id, workspace_id, conversation_id, seq, role, content, status)
      SELECT gen_random_uuid(), ${home.workspaceId}, ${home.conversationId}, n, 'user', '{"type": "text", "text": "x"}', 'sent'
      FROM generate_series(1, 5000) n`.execute(uswarm.database);
    await uswarm.database
      .updateTable('workspaces')
      .set({ last_seq: 5_000 })
      .where('id', '=', home.workspaceId)
      .execute();
    await remove();
    expect(
      await uswarm.database.selectFrom('messages').select('id').where('workspace_id', '=', home.workspaceId).execute(),
    ).toEqual([]);
  });

  it.each([0, 1, 2])('is complete if the process is killed after %d batches, without an event', async (batches) => {
    await signUp();
    await sql`
      INSERT INTO messages (id, workspace_id, conversation_id, seq, role, content, status)
      SELECT gen_random_uuid(), ${home.workspaceId}, ${home.conversationId}, n, 'user', '{"type": "text", "text": "x"}', 'sent'
      FROM generate_series(1, 5000) n`.execute(uswarm.database);
    const stores = createStores(uswarm.database);
    const before = await allRows(uswarm.database);
    let deleted = 0;
    const deletion = createConversationDeletion({
      ...stores,
      withTransaction: createWithTransaction(uswarm.database),
      messages: {
        async trimOldestMessages(...batch) {
          if (deleted++ === batches) throw new Error('killed');
          return trimOldestMessages(...batch);
        },
      },
      access: createWorkspaceAccess(uswarm.database),
      stopInRuntime: () => undefined,
    });
    const userId = await uswarm.idOf(user);
    await expect(deletion.delete(userId, home.workspaceId, home.conversationId)).rejects.toThrow('killed');
    expect(await allRows(uswarm.database)).toEqual(before);
  });

  it('cannot belong to another user: it is not found and does not change', async () => {
    await signUp();
    const owner = home;
    await say('mine');
    await signUp();
    const before = await allRows(uswarm.database);
    for (const path of [
      owner.conversation,
      `${home.workspace}/conversations/${owner.conversationId}`,
      `${home.workspace}/conversations/${crypto.randomUUID()}`,
    ]) {
      expect(await user.refusal('DELETE', path)).toMatch(/^(workspace|conversation)_not_found$/);
    }
    expect(await allRows(uswarm.database)).toEqual(before);
  });
});
