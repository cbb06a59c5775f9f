import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type ErrorBody, type MessageData, type ReplayedEvent } from '@uswarm/contract';
import { checkServerEvent } from '@uswarm/contract/checks';
import { sql } from 'kysely';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../test/test-orchestrator.js';
import { REPLAY_PAGE_SIZE } from './events.service.js';

describe('GET /v1/workspaces/{id}/events?since=', () => {
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

  const say = async (text: string) =>
    (await user.post<{ data: MessageData }>(home.messages, { content: { type: 'text', text } }, 201)).body.data.id;
  const since = async (seq?: number | string) =>
    (await user.get<{ data: ReplayedEvent[] }>(`${home.workspace}/events${seq === undefined ? '' : `?since=${seq}`}`))
      .body.data;

  it('returns the durable events after a sequence as the socket sends them', async () => {
    const ids = [await say('one'), await say('two'), await say('three')];
    const events = await since(1);
    for (const { event, payload } of events) checkServerEvent(event, payload);
    expect(
      events.map(({ seq, event, payload }) => [seq, event, payload['seq'], (payload['message'] as MessageData).id]),
    ).toEqual([
      [2, 'message.new', 2, ids[1]],
      [3, 'message.new', 3, ids[2]],
    ]);
  });

  it('starts at the first event without a sequence, and ends with an empty page', async () => {
    await say('one');
    expect((await since()).map(({ seq }) => seq)).toEqual([1]);
    expect(await since(1)).toEqual([]);
  });

  it('returns the current state of the subjects', async () => {
    const id = await say('before');
    const content = JSON.stringify({ type: 'text', text: 'after' });
    await uswarm.database.updateTable('messages').set({ content }).where('id', '=', id).execute();
    expect((await since())[0]?.payload).toMatchObject({ message: { content: { text: 'after' } } });
  });

  it('reports deleted subjects as deleted and leaves no gap', async () => {
    const id = await say('secret');
    await user.delete(home.conversation, undefined, 204);
    const events = await since();
    expect(events).toEqual([
      { seq: 1, event: 'message.new', payload: { workspace_id: home.workspaceId, seq: 1, deleted: true, id } },
      expect.objectContaining({ seq: 2, event: 'conversation.deleted' }),
    ]);
    expect(JSON.stringify(events)).not.toContain('secret');
  });

  it('returns several pages if there are many events', async () => {
    const many = REPLAY_PAGE_SIZE + 20;
    await sql`
      INSERT INTO workspace_events (workspace_id, seq, type, subject_id, published_at)
      SELECT ${home.workspaceId}, n, 'workspace.updated', ${home.workspaceId}, now() FROM generate_series(1, ${many}) n`.execute(
      uswarm.database,
    );
    await uswarm.database
      .updateTable('workspaces')
      .set({ last_seq: many })
      .where('id', '=', home.workspaceId)
      .execute();
    const parts = [await since(), await since(REPLAY_PAGE_SIZE), await since(many)];
    expect(parts.map((part) => part.length)).toEqual([REPLAY_PAGE_SIZE, 20, 0]);
    expect(parts.flat().map(({ seq }) => seq)).toEqual(Array.from({ length: many }, (_, index) => index + 1));
  });

  it.each([
    ['some events are too old', 1, (seq: number) => seq <= 2],
    ['all events are too old', 1, () => true],
  ])('returns resync_required if %s', async (_what, from, gone) => {
    for (const text of ['one', 'two', 'three']) await say(text);
    for (const seq of [1, 2, 3].filter(gone)) {
      await uswarm.database
        .deleteFrom('workspace_events')
        .where('workspace_id', '=', home.workspaceId)
        .where('seq', '=', seq)
        .execute();
    }
    const answer = await user.raw<ErrorBody>({ method: 'GET', path: `${home.workspace}/events?since=${from}` });
    expect({ status: answer.status, code: answer.body.code, lastSeq: answer.body.extra?.['last_seq'] }).toEqual({
      status: 410,
      code: 'resync_required',
      lastSeq: 3,
    });
  });

  it('returns resync_required if the client is ahead of the server, for example after a restored backup', async () => {
    await say('one');
    expect(await user.refusal('GET', `${home.workspace}/events?since=2`)).toBe('resync_required');
  });

  it('accepts a position with the epoch, and returns resync_required with the epoch for another one', async () => {
    for (const text of ['one', 'two']) await say(text);
    const position = (await user.raw({ method: 'GET', path: home.workspace })).headers['x-workspace-position'];
    const [epoch] = String(position).split(':');
    expect((await since(`${epoch}:1`)).map(({ seq }) => seq)).toEqual([2]);
    // As after a failover that lost events: the sequence exists again, with other events.
    const answer = await user.raw<ErrorBody>({ method: 'GET', path: `${home.workspace}/events?since=other:1` });
    expect(answer.body).toMatchObject({ code: 'resync_required', extra: { last_seq: 2, epoch } });
  });

  it.each(['-1', 'x', '1.5', '1e9x', 'E:1', 'a:b', ':1', 'a:1:2', '0x1', ''])('rejects since=%s', async (value) => {
    expect(await user.refusal('GET', `${home.workspace}/events?since=${value}`)).toBe('validation_failed');
  });
});
