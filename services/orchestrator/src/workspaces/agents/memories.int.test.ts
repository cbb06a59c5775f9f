import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type AgentData,
  type AgentDetails,
  type AgentMemory,
  type AgentMemoryList,
  type ErrorBody,
  LIMITS,
  type Workspace,
} from '@uswarm/contract';
import { sql } from 'kysely';
import { first, startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../../test/test-orchestrator.js';

const JSON_TYPE = { 'content-type': 'application/json' };

describe('memories of an agent', () => {
  let uswarm: TestOrchestrator;
  let user: TestUser;
  let agentId: string;
  /** `/v1/agents/<id>/memories` */
  let memories: string;
  let ofColleague: string;
  /** `/v1/workspaces/<id>/agents` */
  let ofWorkspace: string;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
  });
  afterAll(() => uswarm.close());
  beforeEach(async () => {
    user = await uswarm.user();
    const { agents, workspace } = await uswarm.home(user);
    agentId = first(agents).id;
    ofWorkspace = `${workspace}/agents`;
    [memories, ofColleague] = agents.map(({ id }) => `/v1/agents/${id}/memories`) as [string, string];
  });

  const list = async (query = '', of = memories) => (await user.get<{ data: AgentMemory[] }>(of + query)).body.data;
  const keys = async (query = '', of = memories) => (await list(query, of)).map(({ key }) => key);
  /** Saves a memory of the agent alone. */
  const remember = async (key: string, more: { content?: string; category?: string | null } = {}) =>
    (await user.post<{ data: AgentMemory }>(memories, { key, content: 'green', scope: 'agent', ...more }, 200)).body
      .data;
  const pathOf = (key: string) => `${memories}/${encodeURIComponent(key)}`;
  const rememberWithPreference = (prefer: string, body: unknown) =>
    user.raw({ method: 'POST', path: memories, headers: { ...JSON_TYPE, prefer }, body: JSON.stringify(body) });
  const fill = (count: number) =>
    sql`INSERT INTO agent_memories (agent_id, key, content, category)
      SELECT ${agentId}, 'filled-' || n, 'x', 'core' FROM generate_series(1, ${count}) n`.execute(uswarm.database);
  const usedPercent = async () =>
    (await user.get<{ data: AgentDetails }>(`/v1/agents/${agentId}/details`)).body.data.stats.memory_used_pct;

  it('REST-024 GET /v1/agents/{id}/memories returns the memories of that agent, oldest first', async () => {
    expect(await list()).toEqual([]);
    await remember('tea');
    await remember('coffee', { category: 'taste' });
    await remember('tea', { content: 'black' });
    expect((await list()).map(({ key, content, category }) => [key, content, category])).toEqual([
      ['tea', 'black', 'core'],
      ['coffee', 'green', 'taste'],
    ]);
    expect(await list('', ofColleague)).toEqual([]);
  });

  describe('that are many and long', () => {
    const store = (count: number, bytes: number) =>
      uswarm.database.transaction().execute(async (tx) => {
        await sql`SET LOCAL statement_timeout = 0`.execute(tx);
        await sql`INSERT INTO agent_memories (agent_id, key, content, category, created_at)
          SELECT ${agentId}, 'large-' || lpad(n::text, 3, '0'), repeat('x', ${bytes}), 'core', now()
          FROM generate_series(1, ${count}) n`.execute(tx);
      });

    const read = async (query: string): Promise<AgentMemoryList> =>
      (await user.get<AgentMemoryList>(memories + query)).body;
    async function pages(): Promise<AgentMemoryList[]> {
      const found = [await read('')];
      for (let next = found[0]?.next_scroll_id; next !== undefined; next = found.at(-1)?.next_scroll_id) {
        found.push(await read(`?scrollId=${encodeURIComponent(next)}`));
      }
      return found;
    }
    const names = (count: number) =>
      Array.from({ length: count }, (_, n) => `large-${(n + 1).toString().padStart(3, '0')}`);

    it('are in one response if they are as many and as long as allowed by default', async () => {
      await store(LIMITS.memoriesPerAgent, LIMITS.memoryBytes);
      const { data, ...more } = await read('');
      expect({ keys: data.map(({ key }) => key), more }).toEqual({ keys: names(LIMITS.memoriesPerAgent), more: {} });
    });

    it('are listed in several responses if the installation allows more, each memory once', async () => {
      await store(5, LIMITS.memoryListBytes / 2);
      const found = (await pages()).map(({ data }) => data.map(({ key }) => key));
      expect(found).toEqual([names(5).slice(0, 2), names(5).slice(2, 4), names(5).slice(4)]);
    });

    it('are listed one per response if each memory exceeds the limit', async () => {
      await sql`INSERT INTO agent_memories (agent_id, key, content, category)
        SELECT ${agentId}, 'large-' || n, repeat('x', ${LIMITS.memoryListBytes + 1}), 'core'
        FROM generate_series(1, 2) n`.execute(uswarm.database);
      const { body } = await user.get<AgentMemoryList>(memories);
      expect(body.data.map(({ key }) => key)).toEqual(['large-1']);
      const next = await user.get<AgentMemoryList>(`${memories}?scrollId=${body.next_scroll_id}`);
      expect(next.body).toMatchObject({ data: [{ key: 'large-2' }] });
      expect(next.body.next_scroll_id).toBeUndefined();
    });

    it('reject a cursor of another list', async () => {
      await store(2, LIMITS.memoryListBytes);
      const { body } = await user.get<AgentMemoryList>(memories);
      const elsewhere = `${ofColleague}?scrollId=${body.next_scroll_id}`;
      expect(await user.refusal('GET', elsewhere)).toBe('cursor_invalid');
      expect(await user.refusal('GET', `${memories}?scrollId=${body.next_scroll_id}&category=core`)).toBe(
        'cursor_invalid',
      );
    });
  });

  it('REST-024 a category restricts the list to its memories', async () => {
    await remember('one', { category: 'work' });
    await remember('two');
    await remember('three', { category: 'work' });
    expect(await keys('?category=work')).toEqual(['one', 'three']);
    expect(await keys('?category=core')).toEqual(['two']);
    expect(await keys('?category=none')).toEqual([]);
  });

  it('REST-025 POST /v1/agents/{id}/memories takes key, content and category and returns the memory', async () => {
    const created = await remember('tea', { content: 'black', category: 'taste' });
    expect(created).toMatchObject({ key: 'tea', content: 'black', category: 'taste' });
    expect(await list()).toEqual([created]);
  });

  it('RES-041 a memory has key, content, category and both timestamps', async () => {
    await remember('tea');
    expect(await list()).toEqual([
      {
        key: 'tea',
        content: 'green',
        category: 'core',
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        created_by: 'user',
        scope: 'agent',
        source: null,
      },
    ]);
  });

  it('RES-042 a client that reads only key, content and created_at finds them, regardless of the writer', async () => {
    await remember('tea', { category: 'taste' });
    await rememberWithPreference('return=minimal', { key: 'coffee', content: 'strong' });
    const reduced = (await list()).map(({ key, content, created_at }) => ({ key, content, created_at }));
    expect(reduced).toEqual([
      { key: 'tea', content: 'green', created_at: expect.any(String) },
      { key: 'coffee', content: 'strong', created_at: expect.any(String) },
    ]);
    expect(reduced.every(({ created_at }) => !Number.isNaN(Date.parse(created_at)))).toBe(true);
  });

  it('REST-039 key and content with Prefer: return=minimal return 204 and store the category core', async () => {
    const { status, body } = await rememberWithPreference('return=minimal', { key: 'tea', content: 'green' });
    expect({ status, body }).toEqual({ status: 204, body: undefined });
    expect((await list()).map(({ key, content, category }) => [key, content, category])).toEqual([
      ['tea', 'green', 'core'],
    ]);
  });

  it('REST-039 the Prefer header determines the response, not the fields', async () => {
    const answers = [
      await rememberWithPreference('return=minimal', { key: 'a', content: '', category: 'work' }),
      await rememberWithPreference('return=representation', { key: 'b', content: '' }),
      await rememberWithPreference('something else', { key: 'c', content: '' }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([204, 200, 200]);
  });

  it('REST-025 an existing key is replaced: content, category and updated_at, not created_at', async () => {
    const created = await remember('tea', { category: 'taste' });
    const replaced = await remember('tea', { content: 'black' });
    expect(replaced).toEqual({ ...created, content: 'black', category: 'core', updated_at: expect.any(String) });
    expect(Date.parse(replaced.updated_at)).toBeGreaterThan(Date.parse(created.updated_at));
    expect(await list()).toEqual([replaced]);
  });

  it('concurrent writes of one key result in one memory with the content of one of them', async () => {
    const contents = Array.from({ length: 12 }, (_, n) => `content ${n}`);
    const answers = await Promise.all(contents.map((content) => remember('tea', { content })));
    expect(answers.map(({ content }) => content)).toEqual(contents);
    expect(await list()).toEqual([expect.objectContaining({ key: 'tea', content: expect.stringMatching(/^content/) })]);
  });

  it.each([
    'tea',
    'a/b/c',
    '/leading',
    'trailing/',
    '//',
    'with blanks',
    ' ',
    'Zoë ❤ 日本語',
    'العربية',
    '🍵',
    '100%',
    '%2F',
    '%',
    '%2e%2e',
    'a+b',
    'a?b=c&d#e',
    'a.b.c',
    '.hidden',
    '...',
    'a/../b',
    './x',
    'back\\slash',
    '"quotes\'',
    'line\nbreak\ttab',
    '__proto__',
    'x'.repeat(256),
    '語'.repeat(256),
  ])('REST-026 DELETE /v1/agents/{id}/memories/{key} deletes only %j', async (key) => {
    await remember('another');
    expect((await remember(key)).key).toBe(key);
    expect(await keys()).toEqual(['another', key]);
    expect((await user.delete(pathOf(key), undefined, 204)).body).toBeUndefined();
    expect(await keys()).toEqual(['another']);
    expect(await user.refusal('DELETE', pathOf(key))).toBe('memory_not_found');
  });

  it('keys that only look alike are different', async () => {
    const similarKeys = ['tea', 'Tea', 'tea ', 'te\u0301', 't\u00e9', 'a/b', 'a%2Fb'];
    for (const key of similarKeys) await remember(key);
    expect(await keys()).toEqual(similarKeys);
    await user.delete(pathOf('a/b'), undefined, 204);
    expect(await keys()).toEqual(similarKeys.filter((key) => key !== 'a/b'));
  });

  it('a deletion does not affect the same key of another agent', async () => {
    await user.post(ofColleague, { key: 'tea', content: 'theirs', scope: 'agent' }, 200);
    expect(await user.refusal('DELETE', pathOf('tea'))).toBe('memory_not_found');
    expect(await keys('', ofColleague)).toEqual(['tea']);
  });

  it('an invalid key is not found', async () => {
    expect(await user.refusal('DELETE', `${memories}/%00`)).toBe('memory_not_found');
    expect(await user.refusal('DELETE', pathOf('x'.repeat(2_000)))).toBe('memory_not_found');
  });

  it.each([
    ['no key', { content: 'x' }],
    ['an empty key', { key: '', content: 'x' }],
    ['a key that is too long', { key: 'x'.repeat(257), content: 'x' }],
    ['the key ".."', { key: '..', content: 'x' }],
    ['the key "."', { key: '.', content: 'x' }],
    ['a key that cannot be stored', { key: 'a\u0000b', content: 'x' }],
    ['no content', { key: 'a' }],
    ['content that is not a string', { key: 'a', content: 1 }],
    ['an empty category', { key: 'a', content: 'x', category: '' }],
    ['null as the key', { key: null, content: 'x' }],
  ])('%s is rejected, and nothing is stored', async (_what, body) => {
    expect(await user.refusal('POST', memories, body)).toBe('validation_failed');
    expect(await list()).toEqual([]);
  });

  it('null as the category is the default, as if it were absent', async () => {
    expect((await remember('a', { category: null })).category).toBe('core');
  });

  it.each([
    ['x', LIMITS.memoryBytes],
    ['€', Math.floor(LIMITS.memoryBytes / 3)],
    ['🍵', LIMITS.memoryBytes / 4],
  ])('content of %s is accepted up to 8 KiB of UTF-8 and rejected above', async (letter, fits) => {
    expect((await remember('fits', { content: letter.repeat(fits) })).content).toHaveLength(letter.length * fits);
    const body = { key: 'beyond', content: letter.repeat(fits + 1) };
    expect(await user.refusal('POST', memories, body)).toBe('memory_too_large');
    expect(await keys()).toEqual(['fits']);
  });

  it('the 501st memory is rejected; a replacement is accepted, and a deletion allows another memory', async () => {
    await fill(LIMITS.memoriesPerAgent - 1);
    expect(await usedPercent()).toBe(99);
    await remember('the last');
    expect(await usedPercent()).toBe(100);
    expect(await user.refusal('POST', memories, { key: 'one more', content: '', scope: 'agent' })).toBe(
      'memory_limit_reached',
    );
    await remember('the last', { content: 'replaced' });
    await user.delete(pathOf('filled-1'), undefined, 204);
    await remember('one more');
    expect(await list()).toHaveLength(LIMITS.memoriesPerAgent);
  });

  it('RES-038 memory_used_pct is 0 only without memories, and grows with each memory', async () => {
    expect(await usedPercent()).toBe(0);
    await remember('tea');
    expect(await usedPercent()).toBe(1);
    await fill(249);
    expect(await usedPercent()).toBe(50);
  });

  it.each([0, 1, 7])('concurrent writes store exactly 500 memories if %i are missing', async (missing) => {
    await fill(LIMITS.memoriesPerAgent - missing);
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, n) =>
        user.raw<ErrorBody>({
          method: 'POST',
          path: memories,
          headers: { ...JSON_TYPE, prefer: 'return=minimal' },
          body: JSON.stringify({ key: `new ${n}`, content: '', scope: 'agent' }),
        }),
      ),
    );
    const refused = answers.filter(({ status }) => status !== 204);
    expect(refused.map(({ body }) => body.code)).toEqual(Array(16 - missing).fill('memory_limit_reached'));
    expect(await list()).toHaveLength(LIMITS.memoriesPerAgent);
  });

  describe('that the user edits', () => {
    const editPath = (key: string, agent = agentId) => `${ofWorkspace}/${agent}/memories/${encodeURIComponent(key)}`;
    const edit = async (key: string, change: unknown) =>
      (await user.patch<{ data: AgentMemory }>(editPath(key), change, 200)).body.data;

    it('change content, category or both, and updated_at', async () => {
      const before = await remember('a/b c', { category: 'taste' });
      const edited = await edit('a/b c', { content: 'black' });
      expect(edited).toEqual({ ...before, content: 'black', updated_at: expect.any(String) });
      expect(Date.parse(edited.updated_at)).toBeGreaterThan(Date.parse(before.updated_at));
      expect(await edit('a/b c', { category: 'work' })).toMatchObject({ content: 'black', category: 'work' });
      expect(await edit('a/b c', { content: '', category: 'core' })).toMatchObject({ content: '', category: 'core' });
      expect((await list()).map(({ content, category }) => [content, category])).toEqual([['', 'core']]);
    });

    it.each([
      ['no field', {}],
      ['content that is not a string', { content: 1 }],
      ['an empty category', { category: '' }],
      ['a category that is too long', { category: 'x'.repeat(101) }],
      ['content that cannot be stored', { content: 'a\u0000b' }],
    ])('reject %s, and stay as they are', async (_what, change) => {
      const before = await remember('tea');
      expect(await user.refusal('PATCH', editPath('tea'), change)).toBe('validation_failed');
      expect(await list()).toEqual([before]);
    });

    it('have the size limit of new memories', async () => {
      await remember('tea');
      const content = 'x'.repeat(LIMITS.memoryBytes);
      expect((await edit('tea', { content })).content).toBe(content);
      expect(await user.refusal('PATCH', editPath('tea'), { content: `${content}x` })).toBe('memory_too_large');
    });

    it('are not found under another key, with another agent, and in another workspace', async () => {
      await remember('tea');
      const change = { content: 'black' };
      expect(await user.refusal('PATCH', editPath('coffee'), change)).toBe('memory_not_found');
      expect(await user.refusal('PATCH', editPath('a').replace(/a$/, '%00'), change)).toBe('memory_not_found');
      const otherUser = await uswarm.user();
      const theirs = await uswarm.home(otherUser);
      const foreign = first(theirs.agents).id;
      expect(await user.refusal('PATCH', editPath('tea', foreign), change)).toBe('agent_not_found');
      expect(await otherUser.refusal('PATCH', editPath('tea'), change)).toBe('workspace_not_found');
      const inTheirs = `${theirs.workspace}/agents/${agentId}/memories/tea`;
      expect(await otherUser.refusal('PATCH', inTheirs, change)).toBe('agent_not_found');
      expect((await list()).map(({ content }) => content)).toEqual(['green']);
    });

    it('can get a text that the user deleted before', async () => {
      await remember('old', { content: 'black' });
      await user.delete(pathOf('old'), undefined, 204);
      await remember('tea');
      await edit('tea', { content: 'black' });
      const { rows } = await sql`SELECT FROM deleted_memories WHERE agent_id = ${agentId}`.execute(uswarm.database);
      // Only the deleted key.
      expect(rows).toHaveLength(1);
    });
  });

  it('a rejected memory does not let agents store again what the user deleted', async () => {
    await remember('tea');
    await user.delete(pathOf('tea'), undefined, 204);
    await fill(LIMITS.memoriesPerAgent);
    expect(await user.refusal('POST', memories, { key: 'tea', content: 'green', scope: 'agent' })).toBe(
      'memory_limit_reached',
    );
    const { rows } = await sql`SELECT FROM deleted_memories WHERE agent_id = ${agentId}`.execute(uswarm.database);
    // The key and the content.
    expect(rows).toHaveLength(2);
  });

  describe('of the workspace', () => {
    const share = (key: string, more: object = {}, of = memories) =>
      user.post<{ data: AgentMemory }>(of, { key, content: 'green', ...more }, 200).then(({ body }) => body.data);
    const shown = async (of = memories) =>
      (await list('', of)).map(({ key, content, scope }) => `${key}: ${content} (${scope})`);
    const editOf = (path: string, key: string, change: unknown) => {
      const id = path.split('/')[3];
      return user.patch<{ data: AgentMemory }>(`${ofWorkspace}/${id}/memories/${key}`, change, 200);
    };

    it('are those of the categories that are in every prompt, unless the scope is given', async () => {
      expect(await share('tea')).toMatchObject({ category: 'core', scope: 'workspace' });
      expect(await share('cat', { category: 'Profile' })).toMatchObject({ scope: 'workspace' });
      expect(await share('dog', { category: 'note' })).toMatchObject({ scope: 'agent' });
      expect(await share('car', { scope: 'agent' })).toMatchObject({ category: 'core', scope: 'agent' });
      expect(await share('job', { category: 'note', scope: 'workspace' })).toMatchObject({ scope: 'workspace' });
      expect(await shown(ofColleague)).toEqual([
        'tea: green (workspace)',
        'cat: green (workspace)',
        'job: green (workspace)',
      ]);
    });

    it('can be replaced, edited and deleted through every agent', async () => {
      await share('tea');
      expect(await share('tea', { content: 'black', category: 'note' }, ofColleague)).toMatchObject({
        scope: 'workspace',
      });
      expect(await shown()).toEqual(['tea: black (workspace)']);
      await editOf(ofColleague, 'tea', { content: 'mint' });
      expect(await shown()).toEqual(['tea: mint (workspace)']);
      await user.delete(`${ofColleague}/tea`, undefined, 204);
      expect([await shown(), await shown(ofColleague)]).toEqual([[], []]);
    });

    it('are hidden from an agent by its own memory with the same key', async () => {
      await share('tea');
      await share('tea', { content: 'black', scope: 'agent' }, ofColleague);
      expect([await shown(), await shown(ofColleague)]).toEqual([['tea: green (workspace)'], ['tea: black (agent)']]);
      await user.delete(`${ofColleague}/tea`, undefined, 204);
      expect(await shown(ofColleague)).toEqual(['tea: green (workspace)']);
    });

    it('stay when the agent through which they were saved gets its own with the same key', async () => {
      await share('tea');
      await share('tea', { content: 'black', scope: 'agent' });
      expect([await shown(), await shown(ofColleague)]).toEqual([['tea: black (agent)'], ['tea: green (workspace)']]);
      await share('tea', { content: 'mint', scope: 'workspace' });
      expect([await shown(), await shown(ofColleague)]).toEqual([['tea: mint (workspace)'], ['tea: mint (workspace)']]);
    });

    it('get another scope by an edit', async () => {
      await share('tea');
      await editOf(ofColleague, 'tea', { scope: 'agent' });
      expect([await shown(), await shown(ofColleague)]).toEqual([[], ['tea: green (agent)']]);
      await editOf(ofColleague, 'tea', { scope: 'workspace', content: 'black' });
      expect([await shown(), await shown(ofColleague)]).toEqual([
        ['tea: black (workspace)'],
        ['tea: black (workspace)'],
      ]);
    });

    it('have their own limit', async () => {
      await fill(LIMITS.memoriesPerAgent);
      await share('tea');
      await sql`UPDATE agent_memories m SET workspace_id = a.workspace_id FROM agents a
        WHERE a.id = m.agent_id AND a.id = ${agentId} AND m.key <> 'filled-1'`.execute(uswarm.database);
      expect(await user.refusal('POST', ofColleague, { key: 'one more', content: '' })).toBe('memory_limit_reached');
      const path = `${ofWorkspace}/${agentId}/memories/filled-1`;
      expect(await user.refusal('PATCH', path, { scope: 'workspace' })).toBe('memory_limit_reached');
      await share('tea', { content: 'black' }, ofColleague);
    });

    it('may not be stored again by any agent after the user deleted them', async () => {
      await share('tea');
      await user.delete(`${ofColleague}/tea`, undefined, 204);
      const hashes = () =>
        sql`SELECT DISTINCT d.agent_id FROM deleted_memories d JOIN agents a ON a.id = d.agent_id
          WHERE a.workspace_id = (SELECT workspace_id FROM agents WHERE id = ${agentId})`.execute(uswarm.database);
      expect((await hashes()).rows.length).toBeGreaterThan(2);
      await share('tea');
      expect((await hashes()).rows).toEqual([]);
    });

    it('are not those of another workspace', async () => {
      await share('tea');
      const { body } = await user.post<{ data: Workspace }>('/v1/workspaces', { name: 'Second' }, 201);
      const agents = await user.get<{ data: AgentData[] }>(`/v1/workspaces/${body.data.id}/agents`);
      expect(await shown(`/v1/agents/${first(agents.body.data).id}/memories`)).toEqual([]);
    });
  });

  it('memories are deleted with their agent', async () => {
    await remember('tea');
    await sql`DELETE FROM agents WHERE id = ${agentId}`.execute(uswarm.database);
    expect(await user.refusal('GET', memories)).toBe('agent_not_found');
    const { rows } = await sql`SELECT 1 FROM agent_memories WHERE agent_id = ${agentId}`.execute(uswarm.database);
    expect(rows).toEqual([]);
  });
});
