import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LIMITS, type MessageContent, type MessagePage, type MessageStatus } from '@uswarm/contract';
import { sql } from 'kysely';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../test/test-orchestrator.js';

const NEVER = 50;

describe('pages of messages', () => {
  let uswarm: TestOrchestrator;
  let user: TestUser;
  let home: Home;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
  });
  afterAll(() => uswarm.close());

  const list = async (query: Record<string, string | number> = {}) => {
    const search = new URLSearchParams(
      Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
    );
    const path = `/v1/workspaces/${home.workspaceId}/conversations/${home.conversationId}/messages`;
    return (await user.get<MessagePage>(`${path}?${search}`)).body;
  };
  /** Writes agent messages directly, which is faster than running turns. */
  const arrive = async (count: number, more: { content?: MessageContent; status?: MessageStatus } = {}) => {
    const ids: string[] = [];
    for (let n = 0; n < count; n += 1) {
      const { last_seq: seq } = await uswarm.database
        .updateTable('workspaces')
        .set((row) => ({ last_seq: row('last_seq', '+', 1) }))
        .where('id', '=', home.workspaceId)
        .returning('last_seq')
        .executeTakeFirstOrThrow();
      const id = crypto.randomUUID();
      const content = JSON.stringify(more.content ?? { type: 'text', text: `message ${seq}` });
      const context = {
        workspace_id: home.workspaceId,
        conversation_id: home.conversationId,
        agent_id: home.agents[0]?.id ?? null,
      };
      const row = { id, ...context, seq, role: 'agent' as const, content, status: more.status ?? 'delivered' };
      await uswarm.database.insertInto('messages').values(row).execute();
      ids.push(id);
    }
    return ids;
  };
  const signUp = async (messages: number) => {
    user = await uswarm.user();
    home = await uswarm.home(user);
    return arrive(messages);
  };
  const ids = ({ data }: MessagePage) => data.map(({ id }) => id);
  /** Reads all pages by following `next`. */
  const readAll = async (
    query: Record<string, string | number>,
    between: () => Promise<unknown> = async () => undefined,
  ) => {
    const pages = [await list(query)];
    for (let next = pages[0]?.pagination.next_scroll_id; next && pages.length < NEVER;) {
      await between();
      const page = await list({ ...query, scrollId: next });
      pages.push(page);
      next = page.pagination.next_scroll_id;
    }
    return pages;
  };

  it('REST-032 RES-001 GET …/messages returns a page of messages and its pagination', async () => {
    const sent = await signUp(1);
    const page = await list();
    expect({ keys: Object.keys(page).toSorted(), ids: ids(page) }).toEqual({ keys: ['data', 'pagination'], ids: sent });
  });

  it('RES-063 the pagination has two flags and two cursors, which are null at the ends', async () => {
    await signUp(3);
    const direction = 'forward';
    const first = await list({ direction, limit: 2 });
    const second = await list({ direction, limit: 2, scrollId: first.pagination.next_scroll_id ?? '' });
    expect({ first: first.pagination, second: second.pagination }).toEqual({
      first: { next_scroll_id: expect.any(String), prev_scroll_id: null, has_next: true, has_prev: false },
      second: { next_scroll_id: null, prev_scroll_id: expect.any(String), has_next: false, has_prev: true },
    });
  });

  it('the page of an empty conversation is empty and has no cursors', async () => {
    await signUp(0);
    expect(await list()).toEqual({
      data: [],
      pagination: { next_scroll_id: null, prev_scroll_id: null, has_next: false, has_prev: false },
    });
  });

  it.each([
    ['backward', (sent: string[]) => sent.toReversed()],
    ['forward', (sent: string[]) => sent],
  ] as const)('REST-032 direction=%s returns all messages once in that order', async (direction, order) => {
    const sent = await signUp(11);
    const pages = await readAll({ direction, limit: 3 });
    expect(pages.flatMap(ids)).toEqual(order(sent));
    expect(pages.map(({ data }) => data.length)).toEqual([3, 3, 3, 2]);
  });

  it('the default direction is backward', async () => {
    const sent = await signUp(3);
    expect(ids(await list())).toEqual(sent.toReversed());
  });

  it.each(['backward', 'forward'])(
    'prev returns the previous page in the same order, direction %s',
    async (direction) => {
      await signUp(9);
      const pages = await readAll({ direction, limit: 3 });
      const back = [];
      for (const page of pages.slice(1))
        back.push(await list({ direction, limit: 3, scrollId: page.pagination.prev_scroll_id ?? '' }));
      expect(back.map(ids)).toEqual(pages.slice(0, -1).map(ids));
    },
  );

  it('the first page backward has a cursor for the messages that arrive later', async () => {
    const sent = await signUp(3);
    const first = await list({ limit: 2 });
    expect(first.pagination).toEqual({
      next_scroll_id: expect.any(String),
      prev_scroll_id: expect.any(String),
      has_next: true,
      has_prev: false,
    });
    const scrollId = first.pagination.prev_scroll_id ?? '';
    const nothing = { next_scroll_id: null, prev_scroll_id: null, has_next: false, has_prev: false };
    expect(await list({ limit: 2, scrollId })).toEqual({ data: [], pagination: nothing });
    const arrived = await arrive(3);
    const newer = await list({ limit: 2, scrollId });
    expect(ids(newer)).toEqual(arrived.slice(0, 2).toReversed());
    expect(newer.pagination).toMatchObject({ has_prev: true, has_next: true });
    const newest = await list({ limit: 2, scrollId: newer.pagination.prev_scroll_id ?? '' });
    expect(ids(newest)).toEqual(arrived.slice(2));
    expect(sent).toHaveLength(3);
  });

  describe.each(['backward', 'forward'] as const)('a page at a message, direction %s', (direction) => {
    const ordered = (some: readonly string[]) => (direction === 'backward' ? some.toReversed() : some);

    it('has the message in the middle and both cursors with around', async () => {
      const sent = await signUp(11);
      const page = await list({ direction, limit: 5, around: sent[5] ?? '' });
      expect(ids(page)).toEqual(ordered(sent.slice(3, 8)));
      expect(page.pagination).toMatchObject({ has_next: true, has_prev: true });
      const next = await list({ direction, limit: 5, scrollId: page.pagination.next_scroll_id ?? '' });
      const prev = await list({ direction, limit: 5, scrollId: page.pagination.prev_scroll_id ?? '' });
      expect([...ids(prev), ...ids(page), ...ids(next)]).toEqual(ordered(sent));
    });

    it.each([
      ['the oldest', 0, [0, 1, 2, 3]],
      ['the newest', 10, [7, 8, 9, 10]],
    ])('is filled from the other side with around %s message', async (_which, index, expected) => {
      const sent = await signUp(11);
      const page = await list({ direction, limit: 4, around: sent[index] ?? '' });
      expect(ids(page)).toEqual(ordered(expected.map((n) => sent[n] ?? '')));
    });

    it('has the messages directly after it with after, and directly before it with before', async () => {
      const sent = await signUp(9);
      const after = await list({ direction, limit: 2, after: sent[4] ?? '' });
      expect(ids(after)).toEqual(ordered(sent.slice(5, 7)));
      const before = await list({ direction, limit: 2, before: sent[4] ?? '' });
      expect(ids(before)).toEqual(ordered(sent.slice(2, 4)));
      expect(ids(await list({ direction, after: sent[8] ?? '' }))).toEqual([]);
    });
  });

  it('a page at an unknown message or at one of another conversation is rejected with message_not_found', async () => {
    const [foreign] = await signUp(1);
    await signUp(1);
    for (const anchor of ['around', 'after', 'before']) {
      for (const id of [foreign, crypto.randomUUID()]) {
        expect(await user.refusal('GET', `${home.messages}?${anchor}=${id}`)).toBe('message_not_found');
      }
    }
  });

  it('only one of scrollId, around, after and before is accepted', async () => {
    const [id] = await signUp(1);
    for (const query of [`around=${id}&after=${id}`, `before=${id}&scrollId=x`, `after=${id}&before=${id}`]) {
      expect(await user.refusal('GET', `${home.messages}?${query}`)).toBe('validation_failed');
    }
  });

  it('pages read backward do not shift when messages arrive', async () => {
    const sent = await signUp(10);
    const pages = await readAll({ direction: 'backward', limit: 3 }, () => arrive(2));
    expect(pages.flatMap(ids)).toEqual(sent.toReversed());
  });

  it('pages read forward include messages that arrive meanwhile', async () => {
    const sent = await signUp(4);
    let late: string[] = [];
    const pages = await readAll({ direction: 'forward', limit: 3 }, async () => {
      if (late.length === 0) late = await arrive(2);
    });
    expect(pages.flatMap(ids)).toEqual([...sent, ...late]);
  });

  it.each(['backward', 'forward'])(
    'messages with the same timestamp are returned once each, direction %s',
    async (direction) => {
      const sent = await signUp(9);
      await uswarm.database
        .updateTable('messages')
        .set({ updated_at: new Date(0) })
        .where('workspace_id', '=', home.workspaceId)
        .execute();
      await sql`UPDATE messages SET created_at = now() WHERE workspace_id = ${home.workspaceId}`.execute(
        uswarm.database,
      );
      const pages = await readAll({ direction, limit: 2 });
      expect(pages.flatMap(ids)).toEqual(direction === 'forward' ? sent : sent.toReversed());
    },
  );

  it('a cursor remains valid after its message was deleted', async () => {
    const sent = await signUp(5);
    const { pagination } = await list({ limit: 2 });
    await uswarm.database
      .deleteFrom('messages')
      .where('id', '=', sent[3] ?? '')
      .execute();
    expect(ids(await list({ limit: 2, scrollId: pagination.next_scroll_id ?? '' }))).toEqual([sent[2], sent[1]]);
  });

  it(`a page has ${LIMITS.pageDefault} messages by default and at most ${LIMITS.pageMaximum}`, async () => {
    await signUp(LIMITS.pageMaximum + 1);
    const lengths = [];
    for (const query of [{}, { limit: 1 }, { limit: LIMITS.pageMaximum }])
      lengths.push((await list(query)).data.length);
    expect(lengths).toEqual([LIMITS.pageDefault, 1, LIMITS.pageMaximum]);
  });

  it.each(['0', '-1', '101', '1.5', 'ten', '', 'NaN', '1e3'])('limit=%s is rejected', async (limit) => {
    await signUp(0);
    expect(await user.refusal('GET', `${home.messages}?limit=${limit}`)).toBe('validation_failed');
  });

  it.each([
    'direction=up',
    'direction=',
    'direction=forward&direction=backward',
    'limit=1&limit=2',
    `scrollId=${'x'.repeat(513)}`,
  ])('the query %s is rejected', async (query) => {
    await signUp(0);
    expect(await user.refusal('GET', `${home.messages}?${query}`)).toBe('validation_failed');
  });

  describe('cursors', () => {
    const cursor = async (query: Record<string, string | number> = {}) =>
      (await list({ limit: 1, ...query })).pagination.next_scroll_id ?? '';
    const refusal = (scrollId: string, path = home.messages, more = '') =>
      user.refusal('GET', `${path}?scrollId=${encodeURIComponent(scrollId)}${more}`);

    it('RES-064 are opaque: an unmodified cursor continues the list', async () => {
      const sent = await signUp(2);
      expect(ids(await list({ scrollId: await cursor() }))).toEqual([sent[0]]);
    });

    it('RES-064 are rejected after any modification', async () => {
      await signUp(2);
      const good = await cursor();
      const forged = [...good].map(
        (letter, at) => good.slice(0, at) + (letter === 'A' ? 'B' : 'A') + good.slice(at + 1),
      );
      const codes = [];
      // The last base64 character has unused bits, so changing it may not change the signature.
      for (const scrollId of forged.slice(0, -1)) codes.push(await refusal(scrollId));
      expect(new Set(codes)).toEqual(new Set(['cursor_invalid']));
    });

    it.each(['', 'x', '.', '..', 'a.b', 'WzEsMSwib2xkZXIiXQ', 'WzEsMSwib2xkZXIiXQ.AAAA', '%00', '💥'])(
      'are rejected if malformed: %j',
      async (scrollId) => {
        await signUp(2);
        expect(await refusal(scrollId)).toBe('cursor_invalid');
      },
    );

    it('are rejected in the other direction', async () => {
      await signUp(2);
      expect(await refusal(await cursor({ direction: 'forward' }), home.messages, '&direction=backward')).toBe(
        'cursor_invalid',
      );
    });

    it('are rejected in another conversation', async () => {
      await signUp(2);
      const made = await user.post<{ data: { id: string } }>(`${home.workspace}/conversations`, { type: 'swarm' }, 201);
      const other = `${home.workspace}/conversations/${made.body.data.id}/messages`;
      expect(await refusal(await cursor(), other)).toBe('cursor_invalid');
    });

    it('are rejected for another user', async () => {
      await signUp(2);
      const taken = await cursor();
      await signUp(2);
      expect(await refusal(taken)).toBe('cursor_invalid');
    });
  });

  it.each([
    ['pending', 'pending'],
    ['sent', 'delivered'],
    ['delivered', 'delivered'],
    ['read', 'delivered'],
    ['silent', 'delivered'],
    ['delegated', 'delivered'],
    ['failed', 'failed'],
    ['incomplete', 'failed'],
  ] as const)('a message with the extended status %s has the status %s', async (status, listed) => {
    await signUp(0);
    await arrive(1, { status });
    expect((await list()).data).toMatchObject([{ status: listed, extended_status: status }]);
  });

  it('RES-057 RES-062 a message of an agent has the agent’s id, name, role, slug, avatar and status', async () => {
    await signUp(1);
    expect((await list()).data[0]?.agent).toEqual({
      id: home.agents[0]?.id,
      name: 'Manager',
      role: 'manager',
      slug: 'manager',
      avatar: '/v1/assets/agent-manager.svg',
      status: 'busy',
    });
  });

  it.each<MessageContent>([
    { type: 'text', text: 't' },
    { type: 'loading' },
    { type: 'tool_status', tool: 'web_search_tool', description: 'd', state: 'running' },
  ])('RES-065 content %j has only the fields of its type', async (content) => {
    await signUp(0);
    await arrive(1, { content });
    expect((await list()).data[0]?.content).toEqual(content);
  });
});
