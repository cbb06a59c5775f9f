import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { Conversation, MessageData, MessagePage, ReplayedEvent, Workspace } from '@uswarm/contract';
import { sql } from 'kysely';
import { useTurnFixture } from '../../../test/turn-fixture.js';

const MIGRATION = new URL('../../../migrations/0008_message_order.sql', import.meta.url);
const DONE = { turnStatus: 'done', messageStatus: 'delivered', text: 'Because.', errorCode: null } as const;
const TOOL = { type: 'tool_status', tool: 'web_search_tool', description: 'Searching', state: 'running' } as const;
const CARD = {
  type: 'action_card',
  title: 'Which one?',
  description: '',
  actions: [{ id: 'a', label: 'A', style: 'primary' }],
} as const;

describe('the order of what a turn writes', () => {
  const world = useTurnFixture();

  const list = async (query: string, path = world.home.messages): Promise<MessagePage> =>
    (await world.user.get<MessagePage>(`${path}?${query}`)).body;
  const shown = ({ content }: Pick<MessageData, 'content'>): string =>
    content.type === 'tool_status'
      ? `tool ${content.description}`
      : content.type === 'text'
        ? content.text
        : content.type;
  const forward = async () => (await list('direction=forward')).data.map(shown);
  const ask = async (text = 'why?', messages = world.home.messages) =>
    (await world.user.post<{ data: MessageData }>(messages, { content: { type: 'text', text } }, 201)).body.data;
  const begun = async () => {
    const writer = await world.turnWorker.writerOf(await world.turnWorker.claim());
    await writer.begin();
    return writer;
  };
  const lastMessage = async () =>
    (await world.user.get<{ data: Conversation[] }>(`${world.home.workspace}/conversations`)).body.data[0]
      ?.last_message;
  const preview = async () =>
    (await world.user.get<{ data: Workspace }>(world.home.workspace)).body.data.runtime.last_message_preview;

  it('is user message, tool messages, reply, also while the reply is loading', async () => {
    await ask();
    const writer = await begun();
    const loading = [];
    for (const callId of ['one', 'two']) {
      await writer.tool({ callId, content: { ...TOOL, description: callId } });
      loading.push(await forward());
    }
    expect(loading).toEqual([
      ['why?', 'tool one', 'loading'],
      ['why?', 'tool one', 'tool two', 'loading'],
    ]);
    await writer.finish(DONE);
    expect(await forward()).toEqual(['why?', 'tool one', 'tool two', 'Because.']);
    expect((await list('direction=backward')).data.map(shown)).toEqual(['Because.', 'tool two', 'tool one', 'why?']);
  });

  it('is kept when another worker takes over the turn', async () => {
    await ask();
    const work = await world.turnWorker.claim();
    await (await world.turnWorker.writerOf(work)).begin();
    const writer = await world.turnWorker.writerOf(work);
    await writer.begin();
    await writer.tool({ callId: 'c', content: TOOL });
    expect(await forward()).toEqual(['why?', 'tool Searching', 'loading']);
  });

  it('places cards and notes after the reply', async () => {
    await ask();
    const writer = await begun();
    await writer.tool({ callId: 'c', content: TOOL });
    await writer.offer('card', { ...CARD, actions: [...CARD.actions] });
    await writer.finish(DONE);
    expect(await forward()).toEqual(['why?', 'tool Searching', 'Because.', 'action_card']);
  });

  it('is the same over pages of one message, both ways', async () => {
    for (const text of ['one', 'two']) {
      await ask(text);
      const writer = await begun();
      await writer.tool({ callId: 'a', content: TOOL });
      await writer.tool({ callId: 'b', content: TOOL });
      await writer.finish({ ...DONE, text: `to ${text}` });
    }
    const expected = [
      'one',
      'tool Searching',
      'tool Searching',
      'to one',
      'two',
      'tool Searching',
      'tool Searching',
      'to two',
    ];
    for (const direction of ['forward', 'backward']) {
      const pages = [await list(`direction=${direction}&limit=1`)];
      for (let next = pages[0]?.pagination.next_scroll_id; next && pages.length < 20;) {
        const page = await list(`direction=${direction}&limit=1&scrollId=${next}`);
        pages.push(page);
        next = page.pagination.next_scroll_id;
      }
      const walked = pages.flatMap(({ data }) => data);
      expect(walked.map(shown)).toEqual(direction === 'forward' ? expected : expected.toReversed());
      expect(new Set(walked.map(({ id }) => id)).size).toBe(expected.length);
      const back = await list(`direction=${direction}&limit=1&scrollId=${pages.at(-1)?.pagination.prev_scroll_id}`);
      expect(back.data).toEqual(pages.at(-2)?.data);
    }
  });

  it('is the same in the history of an agent', async () => {
    const agentId = world.home.agents[1]?.id ?? '';
    const made = await world.user.post<{ data: Conversation }>(
      `${world.home.workspace}/conversations`,
      { type: 'agent', agent_id: agentId },
      201,
    );
    await ask('why?', `${world.home.workspace}/conversations/${made.body.data.id}/messages`);
    const writer = await begun();
    await writer.tool({ callId: 'c', content: TOOL });
    await writer.finish(DONE);
    const history = await list('direction=forward', `/v1/agents/${agentId}/history`);
    expect(history.data.map(shown)).toEqual(['why?', 'tool Searching', 'Because.']);
  });

  it('is the order of position, in pages and in events', async () => {
    await ask();
    const writer = await begun();
    await writer.tool({ callId: 'c', content: TOOL });
    await writer.finish(DONE);
    await ask('and?');
    const listed = (await list('direction=forward')).data;
    const positions = listed.map(({ position }) => position);
    expect(positions.toSorted()).toEqual(positions);
    const events = (await world.user.get<{ data: ReplayedEvent[] }>(`${world.home.workspace}/events?since=0`)).body
      .data;
    const live = new Map(
      events.flatMap(({ payload }) => {
        const { message } = payload as { message?: MessageData };
        return message === undefined ? [] : [[message.id, message.position]];
      }),
    );
    expect([...live].toSorted(([, a], [, b]) => (a < b ? -1 : 1)).map(([id]) => id)).toEqual(
      listed.map(({ id }) => id),
    );
  });

  it('makes the reply the last message and the preview, never a tool message', async () => {
    await ask();
    const writer = await begun();
    await writer.tool({ callId: 'c', content: TOOL });
    expect((await lastMessage())?.content).toMatchObject({ type: 'loading' });
    expect(await preview()).toMatchObject({ text: 'why?' });
    await writer.finish(DONE);
    expect((await lastMessage())?.content).toMatchObject({ type: 'text', text: 'Because.' });
    expect(await preview()).toMatchObject({ text: 'Because.', sender_name: 'Manager' });
  });

  it('excludes a tool message of the previous release from last message and preview', async () => {
    await ask();
    const writer = await begun();
    await writer.tool({ callId: 'c', content: TOOL });
    await writer.finish(DONE);
    await sql`UPDATE messages SET before_seq = NULL WHERE workspace_id = ${world.home.workspaceId}`.execute(
      world.uswarm.database,
    );
    expect((await lastMessage())?.content).toMatchObject({ type: 'text', text: 'Because.' });
    expect(await preview()).toMatchObject({ text: 'Because.' });
  });

  it('is applied by the migration to messages of the previous release', async () => {
    await ask();
    const writer = await begun();
    await writer.tool({ callId: 'c', content: TOOL });
    await writer.offer('card', { ...CARD, actions: [...CARD.actions] });
    const [, up = '', down = ''] = readFileSync(MIGRATION, 'utf8').split(/-- (?:Up|Down) Migration/);
    const positions = sql`SELECT id, seq, before_seq FROM messages WHERE workspace_id = ${world.home.workspaceId} ORDER BY seq`;
    const before = await positions.execute(world.uswarm.database);
    const after = await world.uswarm.database.transaction().execute(async (tx) => {
      await sql.raw(down).execute(tx);
      await sql.raw(up).execute(tx);
      return positions.execute(tx);
    });
    expect(after.rows).toEqual(before.rows);
    expect(after.rows.map((row) => (row as { before_seq: number | null }).before_seq !== null)).toEqual([
      false,
      false,
      true,
      false,
    ]);
  });
});
