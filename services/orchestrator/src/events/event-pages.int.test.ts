import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type EventsAnswer, INTERNAL_PATHS, type MessageData, PositionsAnswer } from '@uswarm/contract';
import { checkServerEvent } from '@uswarm/contract/checks';
import { sql } from 'kysely';
import { callAsGateway, readPage, readPages } from '../../test/event-pages.js';
import { jsonBytes } from '../platform/http/bounded-list.js';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../test/test-orchestrator.js';

describe('pages of the event log for gateways', () => {
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

  const call = (path: string, body: object) => callAsGateway(uswarm, path, body);
  const page = (after: number, maxBytes?: number) =>
    readPage(uswarm, { workspaceId: home.workspaceId, after, ...(maxBytes === undefined ? {} : { maxBytes }) });
  const pages = (after: number, maxBytes: number) =>
    readPages(uswarm, { workspaceId: home.workspaceId, after, maxBytes });
  const say = async (text: string) =>
    (await user.post<{ data: MessageData }>(home.messages, { content: { type: 'text', text } }, 201)).body.data.id;

  it('have the events in order, as the socket sends them, with the revision of each object', async () => {
    const ids = [await say('one'), await say('two')];
    const { events, last_seq: lastSeq } = await page(0);
    const bodies = events.map((event) => {
      if ('skip' in event) throw new Error('no object has two events');
      checkServerEvent(event.event, event.payload);
      return { ...event, payload: undefined };
    });
    expect(bodies).toEqual([
      { seq: 1, event: 'message.new', subject_id: ids[0], rev: 1 },
      { seq: 2, event: 'message.new', subject_id: ids[1], rev: 2 },
    ]);
    expect(lastSeq).toBe(2);
  });

  const bodiesOf = (events: EventsAnswer['events']) =>
    events.map((event) => ('skip' in event ? event.seq : [event.seq, event.event, event.subject_id]));

  it('have the last change of an object: other changes of it are skips, as are events of deleted objects', async () => {
    const id = await say('one');
    const other = await say('two');
    for (const title of ['a', 'b', 'c']) await user.patch(home.conversation, { title }, 200);
    await user.delete(`${home.workspace}/messages/${other}`, undefined, 204);
    const { events } = await page(0);
    expect(bodiesOf(events)).toEqual([
      [1, 'message.new', id],
      2,
      3,
      4,
      5,
      [6, 'message.deleted', other],
      [7, 'conversation.updated', home.conversationId],
      [8, 'workspace.updated', home.workspaceId],
    ]);
  });

  it('have the creation of an object, with its last state, also if the page contains changes of it', async () => {
    const { data: opened } = (
      await user.post<{ data: { id: string } }>(`${home.workspace}/conversations`, { type: 'swarm' }, 201)
    ).body;
    const id = await say('one');
    for (const text of ['two', 'three']) {
      await user.patch(`${home.workspace}/messages/${id}`, { content: { type: 'text', text } }, 200);
      await user.patch(`${home.workspace}/conversations/${opened.id}`, { title: text }, 200);
    }
    const { events, last_seq: lastSeq } = await page(0);
    const bodies = events.flatMap((event) => ('skip' in event ? [] : [event]));
    const of = (event: string) =>
      bodies.filter((one) => one.event === event).map(({ subject_id, payload }) => ({ subject_id, payload }));
    expect(bodies.slice(0, 2).map(({ event }) => event)).toEqual(['conversation.new', 'message.new']);
    expect(of('message.new')).toMatchObject([{ subject_id: id, payload: { message: { content: { text: 'three' } } } }]);
    expect(of('conversation.new')).toMatchObject([
      { subject_id: opened.id, payload: { conversation: { title: 'three' } } },
    ]);
    expect(of('message.updated')).toMatchObject([
      { subject_id: id, payload: { message: { content: { text: 'three' } } } },
    ]);
    expect(bodies.at(-1)?.seq).toBe(lastSeq);
  });

  it('contain every event exactly once, whatever the limit of bytes is', async () => {
    for (let n = 0; n < 6; n += 1) await say('x'.repeat(2_000));
    for (const maxBytes of [1, 2_500, 6_000, 262_144]) {
      const found = await pages(0, maxBytes);
      expect(found.flat().map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
      for (const events of found) expect(events.length === 1 || jsonBytes(events) <= maxBytes).toBe(true);
    }
  });

  it('are empty at the last event, and report a position that is too high by the last seq', async () => {
    await say('one');
    expect([await page(1), await page(9)]).toEqual([
      { epoch: expect.any(String), last_seq: 1, events: [] },
      { epoch: expect.any(String), last_seq: 1, events: [] },
    ]);
  });

  it.each([
    ['the next event was deleted', [1]],
    ['an event in the middle was deleted', [2]],
    ['all events were deleted', [1, 2, 3]],
  ])('are never partial: resync if %s', async (_what, gone) => {
    for (const text of ['one', 'two', 'three']) await say(text);
    await sql`
      DELETE FROM workspace_events WHERE workspace_id = ${home.workspaceId} AND seq = ANY(${gone}::bigint[])`.execute(
      uswarm.database,
    );
    expect(await page(0)).toEqual({ epoch: expect.any(String), last_seq: 3, events: [], resync: 'too_old' });
  });

  it('do not exist for a deleted workspace', async () => {
    const answer = await call(INTERNAL_PATHS.events, { workspace_id: crypto.randomUUID(), after: 0 });
    expect(answer).toMatchObject({ status: 404, body: { code: 'workspace_not_found' } });
  });

  it('belong to the epoch of the positions, which leave out deleted workspaces', async () => {
    await say('one');
    const ids = [home.workspaceId, crypto.randomUUID()];
    const positions = PositionsAnswer.parse((await call(INTERNAL_PATHS.positions, { workspace_ids: ids })).body);
    expect(positions).toEqual({
      epoch: (await page(0)).epoch,
      positions: [{ workspace_id: home.workspaceId, last_seq: 1 }],
    });
  });
});
