import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Conversation, ConversationPage, MessagePage, Pagination, ReplayedEvent } from '@uswarm/contract';
import { sql } from 'kysely';
import { request } from 'undici';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../test/test-orchestrator.js';

/** Each has 64 kB as JSON; a response with all of them would have 4.5 MB. */
const MESSAGES = 70;
const TEXT = '\n'.repeat(32_000);
const MAX_BYTES = 2_000_000;

describe('the size of responses', () => {
  let uswarm: TestOrchestrator;
  let user: TestUser;
  let home: Home;
  let agentConversation: Conversation;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
    user = await uswarm.user();
    home = await uswarm.home(user);
    const body = { type: 'agent', agent_id: home.agents[1]?.id };
    const made = await user.post<{ data: Conversation }>(`${home.workspace}/conversations`, body, 201);
    agentConversation = made.body.data;
    await insertLargeMessages(home.conversationId, 100);
    await insertLargeMessages(agentConversation.id, 200);
  });
  afterAll(() => uswarm.close());

  const insertLargeMessages = (conversationId: string, firstSeq: number) =>
    sql`
      WITH filled AS (
        INSERT INTO messages (id, workspace_id, conversation_id, seq, role, status, content)
        SELECT gen_random_uuid(), ${home.workspaceId}, ${conversationId}, ${firstSeq} + n, 'user', 'sent',
          jsonb_build_object('type', 'text', 'text', n || ${TEXT}::text || 'needle')
        FROM generate_series(0, ${MESSAGES - 1}) n
        RETURNING id, workspace_id, seq
      ), counted AS (
        UPDATE workspaces SET last_seq = ${firstSeq + MESSAGES - 1} WHERE id = ${home.workspaceId}
      )
      INSERT INTO workspace_events (workspace_id, seq, type, subject_id, published_at)
      SELECT workspace_id, seq, 'message.new', id, now() FROM filled`.execute(uswarm.database);

  const get = async <Body>(path: string) => {
    const answer = await request(`${uswarm.url}${path}`, { headers: user.headers });
    const text = await answer.body.text();
    expect({ path, status: answer.statusCode }).toEqual({ path, status: 200 });
    expect(Buffer.byteLength(text)).toBeLessThan(MAX_BYTES);
    return JSON.parse(text) as Body;
  };

  /** Reads all pages by following the cursors. @returns each page's message ids */
  async function pagesOf(path: string): Promise<string[][]> {
    const pages: string[][] = [];
    let next: string | null = '';
    while (next !== null) {
      const page: { data: { id: string }[]; pagination: Pagination } = await get(
        next === '' ? path : `${path}&scrollId=${encodeURIComponent(next)}`,
      );
      pages.push(page.data.map(({ id }) => id));
      next = page.pagination.next_scroll_id;
    }
    return pages;
  }
  const idsOf = async (conversationId: string) =>
    (
      await uswarm.database
        .selectFrom('messages')
        .select('id')
        .where('conversation_id', '=', conversationId)
        .orderBy('seq')
        .execute()
    ).map(({ id }) => id);

  it.each([
    ['messages, backward', () => `${home.messages}?limit=100`, () => home.conversationId],
    ['messages, forward', () => `${home.messages}?limit=100&direction=forward`, () => home.conversationId],
    ['the history of an agent', () => `/v1/agents/${home.agents[1]?.id}/history?limit=100`, () => agentConversation.id],
    ['a search', () => `${home.messages}/search?q=needle&limit=100`, () => home.conversationId],
  ])('pages of %s are bounded, and following them returns every message once', async (_what, path, conversation) => {
    const pages = await pagesOf(path());
    const forward = path().includes('forward');
    const ids = await idsOf(conversation());
    expect(pages.flat()).toEqual(forward ? ids : ids.toReversed());
    expect(pages.length).toBeGreaterThan(3);
    expect(pages.filter((page) => page.length === 0)).toEqual([]);
  });

  it('a previous page is bounded', async () => {
    const first = await get<MessagePage>(`${home.messages}?limit=100`);
    const second = await get<MessagePage>(
      `${home.messages}?limit=100&scrollId=${encodeURIComponent(first.pagination.next_scroll_id ?? '')}`,
    );
    const back = await get<MessagePage>(
      `${home.messages}?limit=100&scrollId=${encodeURIComponent(second.pagination.prev_scroll_id ?? '')}`,
    );
    expect(back.data).toEqual(first.data);
    expect(back.pagination).toMatchObject({ has_prev: false, has_next: true });
  });

  it('a page contains one message if the message is larger than the limit', async () => {
    const made = await user.post<{ data: Conversation }>(`${home.workspace}/conversations`, { type: 'swarm' }, 201);
    const { id } = made.body.data;
    await sql`
      INSERT INTO messages (id, workspace_id, conversation_id, seq, role, status, content)
      SELECT gen_random_uuid(), ${home.workspaceId}, ${id}, 1000 + n, 'agent', 'delivered',
        jsonb_build_object('type', 'tool_status', 'tool', 't', 'state', 'completed', 'description', repeat('x', 1200000))
      FROM generate_series(1, 3) n`.execute(uswarm.database);
    const pages = await pagesOf(`${home.workspace}/conversations/${id}/messages?limit=100`);
    expect(pages.map(({ length }) => length)).toEqual([1, 1, 1]);
  });

  it('replayed events are bounded, and following has_next returns every event once', async () => {
    const seqs: number[][] = [];
    for (let since = 99, more = true; more; since = seqs.at(-1)?.at(-1) ?? 0) {
      const { data, has_next } = await get<{ data: ReplayedEvent[]; has_next: boolean }>(
        `${home.workspace}/events?since=${since}`,
      );
      seqs.push(data.map(({ seq }) => seq));
      more = has_next && since < 169;
      if (seqs.flat().includes(169)) more = false;
    }
    const replayed = seqs.flat().filter((seq) => seq <= 169);
    expect(replayed).toEqual(Array.from({ length: MESSAGES }, (_, n) => 100 + n));
    expect(seqs.length).toBeGreaterThan(3);
  });

  it('the list of conversations is complete and bounded, whatever the last messages are', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 20; n += 1) {
      const made = await user.post<{ data: Conversation }>(`${home.workspace}/conversations`, { type: 'swarm' }, 201);
      ids.push(made.body.data.id);
    }
    await sql`
      INSERT INTO messages (id, workspace_id, conversation_id, seq, role, status, content)
      SELECT gen_random_uuid(), ${home.workspaceId}, c.id, 2000 + row_number() OVER (), 'user', 'sent',
        jsonb_build_object('type', 'text', 'text', ${TEXT}::text)
      FROM unnest(${ids}::uuid[]) c (id)`.execute(uswarm.database);
    const { data, pagination } = await get<ConversationPage>(`${home.workspace}/conversations`);
    expect(pagination.has_next).toBe(false);
    expect(data.map(({ id }) => id)).toEqual(
      expect.arrayContaining([...ids, home.conversationId, agentConversation.id]),
    );
  });
});
