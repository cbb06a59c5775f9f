import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { MessageData } from '@uswarm/contract';
import { storedRows } from '../../../test/stored.js';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';

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

  it('with the same body gives the first message again, and stores nothing more', async () => {
    const first = await send(body('hi', 'same'));
    const before = await storedRows(uswarm.database);
    expect(await send(body('hi', 'same'))).toEqual(first);
    expect(await storedRows(uswarm.database)).toEqual(before);
  });

  it('with the same body in other words gives the first message again', async () => {
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
  ])('with %s is local_id_reused, and nothing is stored', async (_what, other) => {
    await send(body('hi', 'reused'));
    const before = await storedRows(uswarm.database);
    expect(await user.refusal('POST', home.messages, other())).toBe('local_id_reused');
    expect(await storedRows(uswarm.database)).toEqual(before);
  });

  it('in another conversation is local_id_reused, even with the same text', async () => {
    await send(body('hi', 'elsewhere'));
    expect(await user.refusal('POST', await another(), body('hi', 'elsewhere'))).toBe('local_id_reused');
  });

  it('sent twenty times at once is one message, one event and one turn', async () => {
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

  it('sent at once with two bodies is one message; the other body is refused', async () => {
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

  it('is each user’s own', async () => {
    await send(body('mine', 'shared'));
    const other = await uswarm.user();
    const { messages } = await uswarm.home(other);
    const { body: answer } = await other.post<{ data: MessageData }>(messages, body('theirs', 'shared'), 201);
    expect(answer.data.content).toEqual({ type: 'text', text: 'theirs' });
  });

  it('leaves no gap in the events when twenty at once lose the race', async () => {
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
