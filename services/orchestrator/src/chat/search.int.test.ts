import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Conversation, MessageContent, MessageData, MessagePage } from '@uswarm/contract';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../test/test-orchestrator.js';

describe('searching a conversation', () => {
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

  const say = async (text: string, path = home.messages) =>
    (await user.post<{ data: MessageData }>(path, { content: { type: 'text', text } }, 201)).body.data.id;
  const pathOf = (q: string, more: Record<string, string | number> = {}, path = home.messages) =>
    `${path}/search?${new URLSearchParams({ q, ...Object.fromEntries(Object.entries(more).map(([k, v]) => [k, String(v)])) })}`;
  const search = async (q: string, more: Record<string, string | number> = {}) =>
    (await user.get<MessagePage>(pathOf(q, more))).body;
  const texts = ({ data }: MessagePage) =>
    data.map(({ content }) => (content.type === 'text' ? content.text : content.type));
  const found = async (q: string) => texts(await search(q));

  it('REST-033 GET …/messages/search returns the messages that match q, newest first, as the list does', async () => {
    for (const text of ['The quick brown fox', 'A lazy dog', 'Two quick foxes']) await say(text);
    const page = await search('quick');
    expect(texts(page)).toEqual(['Two quick foxes', 'The quick brown fox']);
    expect(page.pagination).toEqual({ next_scroll_id: null, prev_scroll_id: null, has_next: false, has_prev: false });
    const listed = (await user.get<MessagePage>(home.messages)).body.data;
    expect(page.data).toEqual(listed.filter(({ id }) => page.data.some((each) => each.id === id)));
  });

  it.each([
    ['a part of a word', 'uic', ['The quick brown fox']],
    ['words in any order and apart from each other', 'fox The', ['The quick brown fox']],
    ['a text with repeated spaces', 'quick  brown', ['The quick brown fox']],
    ['another letter case', 'QUICK', ['The quick brown fox']],
    ['the end of a text', 'fox', ['The quick brown fox']],
    ['one letter', 'q', ['The quick brown fox']],
    ['nothing if one word is missing', 'quick cat', []],
  ])('finds %s: %s', async (_what, q, expected) => {
    for (const text of ['The quick brown fox', 'A lazy dog']) await say(text);
    expect(await found(q)).toEqual(expected);
  });

  it.each([
    ['Chinese', '我们明天去北京大学', '北京', '上海'],
    ['one Chinese character', '我们明天去北京大学', '学', '南'],
    ['Japanese', 'カタカナとひらがな', 'ひら', 'ひか'],
    ['Japanese of half width', 'ｶﾀｶﾅ', 'カタ', 'カカ'],
    ['Korean', '안녕하세요 세계', '세계', '세상'],
    ['Thai', 'สวัสดีชาวโลก', 'ชาว', 'ชาย'],
    ['Arabic', 'مرحبا بالعالم', 'العالم', 'القمر'],
    ['Hebrew', 'שלום עולם', 'עולם', 'ירח'],
    ['Cyrillic, in another case', 'Привет МИР', 'мир', 'луна'],
    ['Greek, with the final sigma', 'ΟΔΟΣ', 'οδος', 'οδοι'],
    ['German', 'Straße und ÄRGER', 'ärger', 'arger'],
    ['Turkish', 'İstanbul', 'stanbul', 'ıstanbulx'],
    ['letters in another Unicode normalization', 'cafe\u0301', 'café', 'cafè'],
    ['an emoji', 'well done 🎉', '🎉', '🎈'],
    ['a composed emoji', 'a family 👩‍👩‍👧‍👦', '👩‍👩‍👧‍👦', '👨‍👩‍👧‍👦'],
    ['a flag', 'from 🇨🇭', '🇨🇭', '🇩🇪'],
    ['characters outside the Basic Multilingual Plane', '𠜎𠜱𠝹', '𠜱𠝹', '𠝹𠜱'],
    ['code', 'if (a[i] !== b?.c) { return `${x}`; }', 'a[i] !==', 'a[j]'],
    ['a path', 'C:\\Users\\ada\\x.ts and ./src/*.ts', '\\ada\\', '\\bob\\'],
    ['SQL', "SELECT '1' -- '; DROP TABLE", "'; DROP", "'; DRAP"],
  ])('finds %s', async (_what, text, q, other) => {
    await say(text);
    await say('something else');
    expect({ found: await found(q), other: await found(other) }).toEqual({ found: [text], other: [] });
  });

  it.each(['%', '_', '\\', '%%', '_a', '*', '.', '?', '"', "'", '&', '|', '!', '()', '<->', ':*', '$1', '$'])(
    'takes %s literally',
    async (q) => {
      await say(`before ${q} after`);
      await say('plain text');
      expect(await found(q)).toEqual([`before ${q} after`]);
    },
  );

  it('finds messages of agents and of the system, cards and artifacts', async () => {
    const contents: MessageContent[] = [
      { type: 'text', text: 'needle in a reply' },
      { type: 'system', text: 'a needle note' },
      { type: 'action_card', title: 'Needle?', description: 'd', actions: [] },
      { type: 'action_card', title: 't', description: 'of a needle', actions: [] },
      {
        type: 'artifact',
        artifact_id: 'a',
        title: 'The needle',
        version: 1,
        status: 'final',
        agent_slug: 'writer',
        content_preview: '',
      },
      {
        type: 'workflow',
        workflow_id: 'w',
        workflow_name: 'needle work',
        execution_id: 'e',
        status: 'running',
        steps: [],
      },
      { type: 'delegation', status: 'running', task_preview: 'find a needle' },
      { type: 'tool_status', tool: 'needle', description: 'needle', state: 'running' },
      { type: 'loading' },
    ];
    for (const [index, content] of contents.entries()) {
      const context = { workspace_id: home.workspaceId, conversation_id: home.conversationId };
      const row = {
        id: crypto.randomUUID(),
        ...context,
        seq: 100 + index,
        role: 'agent' as const,
        status: 'delivered' as const,
      };
      await uswarm.database
        .insertInto('messages')
        .values({ ...row, content: JSON.stringify(content) })
        .execute();
    }
    expect((await search('needle')).data.map(({ content }) => content)).toEqual(contents.slice(0, 7).toReversed());
  });

  it('finds a message immediately after it is sent, and by its current text only', async () => {
    const id = await say('before');
    expect(await found('before')).toEqual(['before']);
    const content = JSON.stringify({ type: 'text', text: 'after' });
    await uswarm.database.updateTable('messages').set({ content }).where('id', '=', id).execute();
    expect({ before: await found('before'), after: await found('after') }).toEqual({ before: [], after: ['after'] });
  });

  it('does not find messages of other conversations', async () => {
    const made = await user.post<{ data: Conversation }>(`${home.workspace}/conversations`, { type: 'swarm' }, 201);
    await say('needle', `${home.workspace}/conversations/${made.body.data.id}/messages`);
    expect(await found('needle')).toEqual([]);
  });

  it('is paged by cursors in both directions, and its pages do not shift when messages arrive', async () => {
    for (let n = 1; n <= 7; n += 1) await say(`needle ${n}`);
    const pages = [await search('needle', { limit: 3 })];
    for (let next = pages[0]?.pagination.next_scroll_id; next; next = pages.at(-1)?.pagination.next_scroll_id) {
      await say('another needle');
      pages.push(await search('needle', { limit: 3, scrollId: next }));
    }
    expect(pages.map(texts)).toEqual([
      ['needle 7', 'needle 6', 'needle 5'],
      ['needle 4', 'needle 3', 'needle 2'],
      ['needle 1'],
    ]);
    const back = await search('needle', { limit: 3, scrollId: pages[2]?.pagination.prev_scroll_id ?? '' });
    expect(texts(back)).toEqual(['needle 4', 'needle 3', 'needle 2']);
    expect({
      first: pages[0]?.pagination.has_prev,
      last: pages[2]?.pagination.has_next,
      back: back.pagination.has_prev,
    }).toEqual({ first: false, last: false, back: true });
  });

  it('rejects a cursor of another search, a cursor of the list and an invented one', async () => {
    for (const text of ['needle one', 'needle two']) await say(text);
    const cursor = (await search('needle', { limit: 1 })).pagination.next_scroll_id ?? '';
    const ofList = (await user.get<MessagePage>(`${home.messages}?limit=1`)).body.pagination.next_scroll_id ?? '';
    const refused = [];
    for (const [q, scrollId] of [
      ['need', cursor],
      ['needle', ofList],
      ['needle', 'x.y'],
      ['needle', ''],
    ] as const) {
      refused.push(await user.refusal('GET', pathOf(q, { scrollId })));
    }
    refused.push(await user.refusal('GET', `${home.messages}?scrollId=${encodeURIComponent(cursor)}`));
    expect(new Set(refused)).toEqual(new Set(['cursor_invalid']));
    // A query that normalizes to the same words is the same search.
    expect(texts(await search(' NEEDLE ', { limit: 1, scrollId: cursor }))).toEqual(['needle one']);
  });

  it.each(['', ' ', '\u3000\t', 'x'.repeat(257), '\u0000'])('rejects q=%j', async (q) => {
    expect(await user.refusal('GET', pathOf(q))).toBe('validation_failed');
  });

  it('rejects a search without q and a search in a conversation of another user', async () => {
    expect(await user.refusal('GET', `${home.messages}/search`)).toBe('validation_failed');
    await say('secret');
    const otherUser = await uswarm.user();
    const own = await uswarm.home(otherUser);
    for (const path of [home.messages, `${own.workspace}/conversations/${home.conversationId}/messages`]) {
      expect(await otherUser.refusal('GET', pathOf('secret', {}, path))).toMatch(
        /^(workspace|conversation)_not_found$/,
      );
    }
  });
});
