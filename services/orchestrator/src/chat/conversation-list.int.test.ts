import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type Conversation,
  type ConversationPage,
  type ErrorCode,
  LIMITS,
  type Mention,
  type ReplayedEvent,
} from '@uswarm/contract';
import { sql } from 'kysely';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../test/test-orchestrator.js';

const MOST = 7;

describe('the list of conversations', () => {
  let uswarm: TestOrchestrator;
  let user: TestUser;
  let home: Home;
  let ids: string[];
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ environment: { CONVERSATIONS_PER_WORKSPACE: String(MOST) } });
  });
  beforeEach(async () => {
    user = await uswarm.user();
    home = await uswarm.home(user);
    ids = [home.conversationId];
    for (let n = 1; n < MOST; n += 1) ids.unshift((await create()).body.data.id);
  });
  afterAll(() => uswarm.close());

  const path = () => `${home.workspace}/conversations`;
  const create = () => user.post<{ data: Conversation }>(path(), { type: 'swarm' }, 201);
  const page = async (query = '') => (await user.get<ConversationPage>(`${path()}${query}`)).body;
  const idsOf = ({ data }: ConversationPage) => data.map(({ id }) => id);
  const next = ({ pagination }: ConversationPage) => encodeURIComponent(pagination.next_scroll_id ?? '');
  const prev = ({ pagination }: ConversationPage) => encodeURIComponent(pagination.prev_scroll_id ?? '');

  it('is a single page without a limit', async () => {
    const all = await page();
    expect(idsOf(all)).toEqual(ids);
    expect(all.pagination).toEqual({ next_scroll_id: null, prev_scroll_id: null, has_next: false, has_prev: false });
  });

  it('is paged in both directions with a limit', async () => {
    const first = await page('?limit=3');
    const second = await page(`?limit=3&scrollId=${next(first)}`);
    const third = await page(`?limit=3&scrollId=${next(second)}`);
    expect([first, second, third].map(idsOf)).toEqual([ids.slice(0, 3), ids.slice(3, 6), ids.slice(6)]);
    expect([first, second, third].map(({ pagination }) => [pagination.has_prev, pagination.has_next])).toEqual([
      [false, true],
      [true, true],
      [true, false],
    ]);
    const back = await page(`?limit=3&scrollId=${prev(third)}`);
    expect(idsOf(back)).toEqual(ids.slice(3, 6));
    expect(idsOf(await page(`?limit=3&scrollId=${prev(back)}`))).toEqual(ids.slice(0, 3));
  });

  it('continues from a cursor although conversations become active or are deleted meanwhile', async () => {
    const first = await page('?limit=2');
    await user.post(`${path()}/${ids[5]}/messages`, { content: { type: 'text', text: 'hi' } }, 201);
    await user.delete(`${path()}/${ids[1]}`, undefined, 204);
    expect(idsOf(await page(`?limit=2&scrollId=${next(first)}`))).toEqual(ids.slice(2, 4));
  });

  it.each(['?limit=0', '?limit=101', '?limit=x'])('rejects %s', async (query) => {
    expect(await user.refusal('GET', `${path()}${query}`)).toBe('validation_failed');
  });

  it('rejects a cursor of another workspace, a cursor of messages and an invented one', async () => {
    const other = await uswarm.user();
    const otherHome = await uswarm.home(other);
    const first = await page('?limit=2');
    const codes: ErrorCode[] = [
      await other.refusal('GET', `${otherHome.workspace}/conversations?scrollId=${next(first)}`),
      await user.refusal('GET', `${home.messages}?scrollId=${next(first)}`),
      await user.refusal('GET', `${path()}?scrollId=x.y`),
    ];
    expect(new Set(codes)).toEqual(new Set(['cursor_invalid']));
  });

  it('has at most the maximum number of conversations, also with concurrent creations', async () => {
    expect(await user.refusal('POST', path(), { type: 'swarm' })).toBe('conversation_limit_reached');
    await user.delete(`${path()}/${ids[0]}`, undefined, 204);
    await user.delete(`${path()}/${ids[1]}`, undefined, 204);
    const answers = await Promise.all(
      Array.from({ length: 6 }, () =>
        user.raw({
          method: 'POST',
          path: path(),
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ type: 'swarm' }),
        }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 201, 409, 409, 409, 409]);
    expect((await page()).data).toHaveLength(MOST);
  });
});

describe('the list of the most conversations, each of which ends with the longest message', () => {
  let uswarm: TestOrchestrator;
  let user: TestUser;
  let home: Home;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
    user = await uswarm.user();
    home = await uswarm.home(user);
    await fill(LIMITS.conversationsPerWorkspace, LIMITS.replyBytes);
  });
  afterAll(() => uswarm.close());

  const list = async () => (await user.get<ConversationPage>(`${home.workspace}/conversations`)).body;
  /** Adds conversations until there are `count`, and a message of an agent with this many bytes to each one. */
  async function fill(count: number, bytes: number): Promise<void> {
    const { workspaceId, agents } = home;
    await uswarm.database.transaction().execute(async (tx) => {
      await sql`SET LOCAL statement_timeout = 0`.execute(tx);
      // Nothing is searched here, and half a gigabyte of search texts takes minutes.
      await sql`ALTER TABLE messages ALTER COLUMN search_text DROP EXPRESSION`.execute(tx);
      await sql`
        INSERT INTO conversations (id, workspace_id, type)
        SELECT gen_random_uuid(), ${workspaceId}, 'swarm' FROM generate_series(2, ${count}) n`.execute(tx);
      await sql`
        INSERT INTO messages (id, workspace_id, conversation_id, seq, role, agent_id, content, status)
        SELECT gen_random_uuid(), ${workspaceId}, id, row_number() OVER (), 'agent', ${agents[0]?.id},
          jsonb_build_object('type', 'text', 'text', repeat('🙂', ${bytes / 4})), 'delivered'
        FROM conversations WHERE workspace_id = ${workspaceId}`.execute(tx);
    });
  }

  it('is one response that has each of them', async () => {
    const { data, pagination } = await list();
    expect(new Set(data.map(({ id }) => id)).size).toBe(LIMITS.conversationsPerWorkspace);
    expect(pagination).toEqual({ next_scroll_id: null, prev_scroll_id: null, has_next: false, has_prev: false });
  });

  it('has the beginning of each last message, which is marked as truncated', async () => {
    const beginning = { type: 'text', text: '🙂'.repeat(LIMITS.lastMessageText) };
    const { data } = await list();
    const shown = data.map(({ last_message: last }) => ({ content: last?.content, truncated: last?.truncated }));
    expect(shown).toEqual(data.map(() => ({ content: beginning, truncated: true })));
  });
});

describe('the last message of a conversation', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
  });
  afterAll(() => uswarm.close());

  /** The last message after a text was sent that mentions an agent, from each response and event that has it. */
  async function lastMessages(text: string, mentions: Pick<Mention, 'offset' | 'length'>[]) {
    const user = await uswarm.user();
    const home = await uswarm.home(user);
    const [agent] = home.agents;
    const draft = {
      content: { type: 'text', text },
      mentions: mentions.map((one) => ({ ...one, agent_id: agent?.id })),
    };
    await user.post(home.messages, draft, 201);
    await user.patch(home.conversation, { title: 'Long' }, 200);
    const { data: listed } = (await user.get<ConversationPage>(`${home.workspace}/conversations`)).body;
    const { data: single } = (await user.get<{ data: Conversation }>(home.conversation)).body;
    const { data: events } = (await user.get<{ data: ReplayedEvent[] }>(`${home.workspace}/events`)).body;
    const renamed = events.find(({ event }) => event === 'conversation.updated')?.payload[
      'conversation'
    ] as Conversation;
    return [listed[0], single, renamed].map((conversation) => conversation?.last_message);
  }

  it('is the same in the list, in the conversation and in events', async () => {
    const [listed, ...others] = await lastMessages('x'.repeat(LIMITS.messageText), []);
    expect(listed?.truncated).toBe(true);
    expect(others).toEqual([listed, listed]);
  });

  it('is complete up to the limit', async () => {
    const text = 'x'.repeat(LIMITS.lastMessageText);
    const [listed] = await lastMessages(text, []);
    expect({ content: listed?.content, truncated: listed?.truncated }).toEqual({
      content: { type: 'text', text },
      truncated: undefined,
    });
  });

  it('has only the mentions in the beginning of its text', async () => {
    const end = LIMITS.lastMessageText;
    const inside = { offset: end - 5, length: 5 };
    const [listed] = await lastMessages('x'.repeat(end * 2), [
      inside,
      { offset: end - 2, length: 4 },
      { offset: end + 9, length: 3 },
    ]);
    expect(listed?.mentions).toMatchObject([inside]);
  });
});
