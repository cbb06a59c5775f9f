import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Conversation, MessageData, OpenCardPage, Workspace } from '@uswarm/contract';
import { sql } from 'kysely';
import { ASKED, CARD, createMessageClient, END } from '../../test/message-client.js';
import { useTurnFixture } from '../../test/turn-fixture.js';
import { approvalCard, callHash } from '../records/approval-card.js';

describe('the cards that wait for a user', () => {
  const world = useTurnFixture();
  const { say, begin, pathOf } = createMessageClient(world);

  const read = async (query = '') => (await world.user.get<OpenCardPage>(`/v1/open-cards${query}`)).body;
  const titles = ({ data }: OpenCardPage) =>
    data.map(({ message: { content } }) => (content.type === 'action_card' ? content.title : content.type));
  const waiting = async () => titles(await read());
  const choose = async (id: string, action: string) =>
    (await world.user.post<{ data: MessageData }>(`${pathOf(id)}/action`, { action_id: action }, 200)).body.data;

  /** An agent asks questions, and for the approval of calls. */
  async function asked({ questions = [], calls = [] }: { questions?: string[]; calls?: string[] }) {
    await say('go');
    const { writer } = await begin();
    for (const title of questions) await writer.offer(title, { ...CARD, title });
    for (const id of calls) {
      const card = approvalCard({ title: id, changes: [] }, ASKED);
      await writer.ask({ id, tool: 'send_mail', argumentsHash: callHash('send_mail', id), card });
    }
    return writer;
  }

  it('are listed with their workspace, tool and expiry', async () => {
    const before = Date.now();
    await asked({ calls: ['Send'] });
    const [card] = (await read()).data;
    expect(card).toMatchObject({
      workspace_id: world.home.workspaceId,
      message: { content: { title: 'Approve? Send', approval: ASKED } },
    });
    const { content } = card?.message ?? {};
    const expiresAt = content?.type === 'action_card' ? Date.parse(content.expires_at ?? '') : 0;
    expect(Math.round((expiresAt - before) / 3_600_000)).toBe(24);
  });

  it('are listed in pages, oldest first, of all workspaces', async () => {
    await asked({ questions: ['1', '2'] });
    const { id: otherId } = (await world.user.post<{ data: Workspace }>('/v1/workspaces', { name: 'Other' }, 201)).body
      .data;
    const other = `/v1/workspaces/${otherId}/conversations`;
    const conversation = (await world.user.post<{ data: Conversation }>(other, { type: 'swarm' }, 201)).body.data;
    await world.user.post(`${other}/${conversation.id}/messages`, { content: { type: 'text', text: 'go' } }, 201);
    const { writer } = await begin();
    await writer.offer('k', { ...CARD, title: '3' });
    const page = await read('?limit=2');
    expect(titles(page)).toEqual(['1', '2']);
    const next = await read(`?limit=2&scrollId=${page.pagination.next_scroll_id}`);
    expect({ titles: titles(next), workspaces: next.data.map((card) => card.workspace_id) }).toEqual({
      titles: ['3'],
      workspaces: [otherId],
    });
    expect(next.pagination).toEqual({ next_scroll_id: null, prev_scroll_id: null, has_next: false, has_prev: false });
  });

  it('are those of the user only, and so are the cursors', async () => {
    await asked({ questions: ['1', '2'] });
    const { next_scroll_id: cursor } = (await read('?limit=1')).pagination;
    const stranger = await world.uswarm.user();
    expect((await stranger.get<OpenCardPage>('/v1/open-cards')).body.data).toEqual([]);
    expect(await stranger.refusal('GET', `/v1/open-cards?scrollId=${cursor}`)).toBe('cursor_invalid');
  });

  it('no longer wait once a choice is made', async () => {
    await asked({ calls: ['Send'] });
    await choose((await read()).data[0]?.message.id ?? '', 'deny');
    expect(await waiting()).toEqual([]);
  });

  it('a question no longer waits after another message of the user, but can be answered', async () => {
    const writer = await asked({ questions: ['Which?'] });
    await writer.finish(END);
    const [card] = (await read()).data;
    await say('never mind');
    expect(await waiting()).toEqual([]);
    expect((await choose(card?.message.id ?? '', 'a')).content).toMatchObject({ selected_action_id: 'a' });
  });

  it('a withdrawn card no longer waits', async () => {
    const writer = await asked({ calls: ['Send'] });
    await writer.suspend('', ['Send']);
    await say('something else');
    expect(await waiting()).toEqual([]);
  });

  it('an expired card no longer waits, before it is withdrawn', async () => {
    await asked({ calls: ['Send'] });
    await sql`UPDATE tool_approvals SET expires_at = now() WHERE conversation_id = ${world.home.conversationId}`.execute(
      world.uswarm.database,
    );
    expect(await waiting()).toEqual([]);
  });

  it('a card that a restarted reply withdrew no longer waits', async () => {
    await asked({ questions: ['Which?'] });
    await sql`UPDATE messages SET status = 'failed', error_code = 'withdrawn' WHERE turn_key = 'message:Which?'`.execute(
      world.uswarm.database,
    );
    expect(await waiting()).toEqual([]);
  });

  it('a page of long cards ends before the size limit of responses', async () => {
    await asked({ questions: Array.from({ length: 20 }, () => `${'?'.repeat(60_000)}${randomUUID()}`) });
    const page = await read();
    expect(page.pagination.has_next).toBe(true);
    expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThan(1_100_000);
    const next = await read(`?scrollId=${page.pagination.next_scroll_id}`);
    expect(page.data.length + next.data.length).toBe(20);
  });
});
