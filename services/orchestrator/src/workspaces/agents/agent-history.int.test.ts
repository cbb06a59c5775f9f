import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { AgentSummary, Conversation, MessagePage } from '@uswarm/contract';
import type { ApiClient } from '../../../test/api-client.js';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';

describe('the history of an agent', () => {
  let uswarm: TestOrchestrator;
  let user: TestUser;
  let home: Home;
  let agent: AgentSummary;
  let colleague: AgentSummary;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
  });
  afterAll(() => uswarm.close());
  beforeEach(async () => {
    user = await uswarm.user();
    home = await uswarm.home(user);
    [agent, colleague] = home.agents as [AgentSummary, AgentSummary];
  });

  const conversationWith = async ({ id }: AgentSummary) => {
    const body = { type: 'agent', agent_id: id };
    return (await user.post<{ data: Conversation }>(`${home.workspace}/conversations`, body, 201)).body.data.id;
  };
  const say = async (conversationId: string, text = 'hi') => {
    const path = `${home.workspace}/conversations/${conversationId}/messages`;
    return (await user.post<{ data: { id: string } }>(path, { content: { type: 'text', text } }, 201)).body.data.id;
  };
  const pathOf = ({ id }: AgentSummary, query: Record<string, string | number> = {}) =>
    `/v1/agents/${id}/history?${new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] => [name, `${value}`]))}`;
  const read = async (query: Record<string, string | number> = {}, of = agent) =>
    (await user.get<MessagePage>(pathOf(of, query))).body;
  const ids = ({ data }: MessagePage) => data.map(({ id }) => id);
  /** Sends eleven messages in three conversations with the agent, interleaved with other conversations. */
  const exchangeMessages = async () => {
    const conversations = [await conversationWith(agent), await conversationWith(agent), await conversationWith(agent)];
    const elsewhere = [home.conversationId, await conversationWith(colleague)];
    const messageIds: string[] = [];
    for (let n = 0; n < 11; n += 1) {
      messageIds.push(await say(conversations[(n * 7) % 3]!, `message ${n}`));
      await say(elsewhere[n % 2]!, 'elsewhere');
    }
    return { messageIds, conversations };
  };

  it('REST-021 GET /v1/agents/{id}/history returns the messages of the conversations with that agent', async () => {
    const { messageIds, conversations } = await exchangeMessages();
    const page = await read();
    expect(ids(page)).toEqual(messageIds.toReversed());
    expect(new Set(page.data.map(({ conversation_id }) => conversation_id))).toEqual(new Set(conversations));
    expect(page.pagination).toEqual({
      next_scroll_id: null,
      prev_scroll_id: null,
      has_next: false,
      has_prev: false,
    });
  });

  it('REST-021 returns messages as lists do, with the extended status', async () => {
    await say(await conversationWith(agent));
    const [message] = (await read()).data;
    expect(message).toMatchObject({ role: 'user', status: 'delivered', extended_status: 'sent' });
  });

  it('REST-021 is empty without a conversation with the agent', async () => {
    await say(home.conversationId);
    expect((await read()).data).toEqual([]);
  });

  it.each([
    ['backward', (messageIds: string[]) => messageIds.toReversed()],
    ['forward', (messageIds: string[]) => messageIds],
  ] as const)(
    'REST-021 pages in direction %s contain each message once, and can be read back',
    async (direction, order) => {
      const { messageIds } = await exchangeMessages();
      const pages = [await read({ direction, limit: 4 })];
      for (let next = pages[0]?.pagination.next_scroll_id; next && pages.length < 9;) {
        const page = await read({ direction, limit: 4, scrollId: next });
        pages.push(page);
        next = page.pagination.next_scroll_id;
      }
      expect(pages.flatMap(ids)).toEqual(order(messageIds));
      expect(pages.map(({ data }) => data.length)).toEqual([4, 4, 3]);
      const prev = pages.at(-1)?.pagination.prev_scroll_id ?? '';
      expect(ids(await read({ direction, limit: 4, scrollId: prev }))).toEqual(ids(pages[1]!));
    },
  );

  it('pages do not overlap while messages arrive', async () => {
    const { messageIds, conversations } = await exchangeMessages();
    const newest = await read({ limit: 4 });
    await say(conversations[1]!, 'meanwhile');
    const next = await read({ limit: 4, scrollId: newest.pagination.next_scroll_id ?? '' });
    expect([...ids(newest), ...ids(next)]).toEqual(messageIds.toReversed().slice(0, 8));
  });

  it('rejects a cursor of another list, user or direction, and a forged one', async () => {
    const { conversations } = await exchangeMessages();
    const next = async (path: string) => (await user.get<MessagePage>(path)).body.pagination.next_scroll_id ?? '';
    const own = await next(pathOf(agent, { limit: 1 }));
    const inConversation = `${home.workspace}/conversations/${conversations[0]}/messages?limit=1`;
    const refused: [ApiClient, string][] = [
      [user, pathOf(agent, { scrollId: await next(inConversation) })],
      [user, pathOf(colleague, { scrollId: own })],
      [user, pathOf(agent, { scrollId: own, direction: 'forward' })],
      [user, pathOf(agent, { scrollId: `${own}x` })],
      [user, pathOf(agent, { scrollId: 'x' })],
      [user, `${inConversation}&scrollId=${own}`],
    ];
    for (const [client, path] of refused) expect(await client.refusal('GET', path)).toBe('cursor_invalid');
  });

  it('omits messages of deleted conversations', async () => {
    const [one, other] = [await conversationWith(agent), await conversationWith(agent)];
    const stays = await say(one);
    await say(other);
    await uswarm.database.deleteFrom('conversations').where('id', '=', other).execute();
    expect(ids(await read())).toEqual([stays]);
  });
});
