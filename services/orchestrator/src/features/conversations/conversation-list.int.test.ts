import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Conversation, ConversationPage, ErrorCode } from '@uswarm/contract';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';

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
