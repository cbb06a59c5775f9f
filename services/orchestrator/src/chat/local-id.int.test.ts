import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { MessageData } from '@uswarm/contract';
import { allRows } from '../../test/database-rows.js';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../test/test-orchestrator.js';

const body = (text: string, localId: string) => ({ local_id: localId, content: { type: 'text', text } });

describe('local_id', () => {
  let uswarm: TestOrchestrator;
  let user: TestUser;
  let home: Home;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
    user = await uswarm.user();
    home = await uswarm.home(user);
  });
  afterAll(() => uswarm.close());

  const send = async (sent: object, path = home.messages) =>
    (await user.post<{ data: MessageData }>(path, sent, 201)).body.data;
  const stored = async (localId: string) =>
    uswarm.database.selectFrom('messages').select('id').where('local_id', '=', localId).execute();
  const another = async () => {
    const made = await user.post<{ data: { id: string } }>(`${home.workspace}/conversations`, { type: 'swarm' }, 201);
    return `${home.workspace}/conversations/${made.body.data.id}/messages`;
  };

  it('returns the first message if the body is the same, and stores nothing', async () => {
    const first = await send(body('hi', 'same'));
    const before = await allRows(uswarm.database);
    expect(await send(body('hi', 'same'))).toEqual(first);
    expect(await allRows(uswarm.database)).toEqual(before);
  });

  it('returns the first message if the body is equivalent', async () => {
    const first = await send(body('hi', 'words'));
    const sameMeaning = { attachments: [], mentions: [], unknown: true, ...body('hi', 'words') };
    expect((await send(sameMeaning)).id).toBe(first.id);
  });

  it.each([
    ['another text', () => body('other', 'reused')],
    [
      'other mentions',
      () => ({
        ...body('hi', 'reused'),
        mentions: [{ agent_id: home.agents[1]?.id, agent_name: '', offset: 0, length: 1 }],
      }),
    ],
  ])('is rejected with local_id_reused for %s, and nothing is stored', async (_what, other) => {
    await send(body('hi', 'reused'));
    const before = await allRows(uswarm.database);
    expect(await user.refusal('POST', home.messages, other())).toBe('local_id_reused');
    expect(await allRows(uswarm.database)).toEqual(before);
  });

  it('is rejected with local_id_reused in another conversation, even with the same text', async () => {
    await send(body('hi', 'elsewhere'));
    expect(await user.refusal('POST', await another(), body('hi', 'elsewhere'))).toBe('local_id_reused');
  });

  it('creates one message, one event and one turn for twenty concurrent requests', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => send(body('storm', 'storm'))));
    const [id, ...others] = new Set(all.map((message) => message.id));
    expect(others).toEqual([]);
    expect(await stored('storm')).toEqual([{ id }]);
    const events = await uswarm.database
      .selectFrom('workspace_events')
      .select('type')
      .where('subject_id', '=', id ?? '')
      .execute();
    expect(events).toEqual([{ type: 'message.new' }]);
    const turns = await uswarm.database
      .selectFrom('turns')
      .select('status')
      .where('user_message_id', '=', id ?? '')
      .execute();
    expect(turns).toHaveLength(1);
  });

  it('creates one message for two concurrent bodies, and the other body is rejected', async () => {
    const path = await another();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        user.raw<{ data?: MessageData; code?: string }>({
          method: 'POST',
          path,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body(index % 2 === 0 ? 'even' : 'odd', 'race')),
        }),
      ),
    );
    expect(await stored('race')).toHaveLength(1);
    const outcomes = answers.map((answer) => answer.body.code ?? answer.status);
    expect(outcomes.filter((outcome) => outcome === 201)).toHaveLength(5);
    expect(outcomes.filter((outcome) => outcome === 'local_id_reused')).toHaveLength(5);
  });

  it('is scoped to the user', async () => {
    await send(body('mine', 'shared'));
    const other = await uswarm.user();
    const { messages } = await uswarm.home(other);
    const { body: answer } = await other.post<{ data: MessageData }>(messages, body('theirs', 'shared'), 201);
    expect(answer.data.content).toEqual({ type: 'text', text: 'theirs' });
  });

  it('leaves no gap in the event log when concurrent requests lose the race', async () => {
    const path = await another();
    await Promise.all(Array.from({ length: 20 }, () => send(body('gapless', 'gapless'), path)));
    const rows = await uswarm.database
      .selectFrom('workspace_events')
      .select('seq')
      .where('workspace_id', '=', home.workspaceId)
      .orderBy('seq')
      .execute();
    expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, index) => index + 1));
  });
});
