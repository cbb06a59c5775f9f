import { describe, expect, it } from '@jest/globals';
import type { AgentMemory } from '@uswarm/contract';
import { sql } from 'kysely';
import { beginToolTurn } from '../../../test/tool-turn.js';
import { useTurnFixture } from '../../../test/turn-fixture.js';
import { forgetMemory, rankMemories, readMemories } from '../../records/memories.store.js';
import { LeaseLost } from '../../turns/commit.js';
import { createMemoryTools } from './memory-tools.js';

const DONE = { turnStatus: 'done', messageStatus: 'delivered', text: 'Done.', errorCode: null } as const;

describe('the tools for memories', () => {
  const world = useTurnFixture();

  const begin = async (limits = { perAgent: 500, contentBytes: 8_192 }) => {
    const begun = await beginToolTurn(world, createMemoryTools({ database: world.turnWorker.stores.database, limits }));
    const path = `/v1/agents/${begun.turn.agent_id}/memories`;
    const memories = async () =>
      (await world.user.get<{ data: { key: string; content: string }[] }>(path)).body.data.map(
        ({ key, content }) => `${key}: ${content}`,
      );
    return { ...begun, memories, path };
  };
  const tea = { key: 'tea', content: 'The user drinks green tea.' };

  it('save, find and delete memories, which the user sees', async () => {
    const { call, memories } = await begin();
    expect(await call('remember', tea)).toMatchObject({ failed: false });
    await call('remember', { key: 'dog', content: 'The dog is called Rex.' });
    expect(await memories()).toEqual(['tea: The user drinks green tea.', 'dog: The dog is called Rex.']);
    const { text } = await call('recall', { query: 'which tea?' });
    expect(JSON.parse(text)).toEqual({ ...tea, category: 'general' });
    expect(await call('recall', { query: 'zebra' })).toMatchObject({ text: 'No memory matches.' });
    await call('forget', { key: 'tea' });
    expect(await memories()).toEqual(['dog: The dog is called Rex.']);
    expect(await call('forget', { key: 'tea' })).toMatchObject({ failed: true });
  });

  it('show the status of a call once', async () => {
    const { call, turn } = await begin();
    await call('remember', tea, { id: 'a' });
    await call('remember', tea, { id: 'a' });
    const rows = await world.uswarm.database
      .selectFrom('messages')
      .select('content')
      .where('turn_id', '=', turn.id)
      .where('turn_key', '=', 'call:a')
      .execute();
    expect(rows.map(({ content }) => content)).toEqual([
      { type: 'tool_status', tool: 'remember', description: 'Remembering “tea”', state: 'completed' },
    ]);
  });

  it('execute a call once, also if the user changed the memory in between', async () => {
    const { call, memories, path } = await begin();
    const first = await call('remember', tea, { id: 'a' });
    await world.user.post(path, { key: 'tea', content: 'black' }, 200);
    expect(await call('remember', tea, { id: 'a' })).toEqual(first);
    expect(await memories()).toEqual(['tea: black']);
  });

  it('change nothing without the lease of the turn', async () => {
    const { call, memories, job } = await begin();
    const by = await world.turnWorker.writerOf({ ...job, leaseId: '00000000-0000-7000-8000-000000000000' });
    await expect(call('remember', tea, { by })).rejects.toThrow(LeaseLost);
    expect(await memories()).toEqual([]);
  });

  it('do not save again what the user deleted, under this or another key, until the user saves it', async () => {
    const { call, memories, path } = await begin();
    await call('remember', tea);
    await world.user.delete(`${path}/tea`, undefined, 204);
    for (const memory of [tea, { ...tea, key: ' TEA ' }, { ...tea, key: 'drink' }, { key: 'tea', content: 'Green.' }]) {
      expect(await call('remember', memory)).toMatchObject({
        failed: true,
        text: expect.stringContaining('The user deleted this memory.'),
      });
    }
    expect(await memories()).toEqual([]);
    expect(await call('remember', { key: 'dog', content: 'Rex' })).toMatchObject({ failed: false });
    await world.user.post(path, tea, 200);
    expect(await call('remember', { ...tea, key: 'drink' })).toMatchObject({ failed: false });
  });

  it('record the message of the user that led to a memory, until it is deleted', async () => {
    const { call, path, turn, writer } = await begin();
    await call('remember', tea);
    const shown = async () => (await world.user.get<{ data: AgentMemory[] }>(path)).body.data;
    const source = { message_id: turn.user_message_id, conversation_id: turn.conversation_id };
    expect(await shown()).toMatchObject([{ ...tea, created_by: 'agent', source }]);
    const { rows } = await sql`SELECT turn_id FROM agent_memories WHERE agent_id = ${turn.agent_id}`.execute(
      world.uswarm.database,
    );
    expect(rows).toEqual([{ turn_id: turn.id }]);
    await writer.finish(DONE);
    await world.user.delete(`${world.home.workspace}/messages/${turn.user_message_id}`, undefined, 204);
    expect(await shown()).toMatchObject([{ ...tea, created_by: 'agent', source: null }]);
  });

  it('keep memories whose conversation is deleted', async () => {
    const { call, path, turn, writer } = await begin();
    await call('remember', tea);
    await writer.finish(DONE);
    await world.user.delete(`${world.home.workspace}/conversations/${turn.conversation_id}`, undefined, 204);
    const { data } = (await world.user.get<{ data: AgentMemory[] }>(path)).body;
    expect(data).toMatchObject([{ ...tea, source: null }]);
  });

  it.each<[string, (path: string, edited: string) => Promise<unknown>]>([
    ['edited', (_path, edited) => world.user.patch(edited, { content: 'Black tea.' }, 200)],
    ['saved', (path) => world.user.post(path, { key: 'tea', content: 'Black tea.' }, 200)],
  ])('replace a text that the user %s only if the agent repeats it', async (_how, write) => {
    const { call, memories, path, turn } = await begin();
    await call('remember', tea);
    await write(path, `${world.home.workspace}/agents/${turn.agent_id}/memories/tea`);
    const refused = await call('remember', { ...tea, content: 'Oolong.' });
    expect(refused).toMatchObject({ failed: true, text: expect.stringContaining('"Black tea."') });
    expect(await call('remember', { ...tea, content: 'Oolong.', replaces: tea.content })).toMatchObject({
      failed: true,
    });
    expect(await memories()).toEqual(['tea: Black tea.']);
    expect(await call('remember', { ...tea, content: 'Oolong.', replaces: 'Black tea.' })).toMatchObject({
      failed: false,
    });
    // The current text was written by the agent.
    expect(await call('remember', { ...tea, content: 'Mint tea.' })).toMatchObject({ failed: false });
    expect(await memories()).toEqual(['tea: Mint tea.']);
  });

  it('save core memories for all agents, who find, replace and forget them', async () => {
    const { call, turn } = await begin();
    await call('remember', { ...tea, category: 'core' });
    await call('remember', { key: 'dog', content: 'The dog is called Rex.' });
    const { database } = world.uswarm;
    const { rows } = await sql<{ id: string }>`
      SELECT id FROM agents WHERE workspace_id = ${turn.workspace_id} AND id <> ${turn.agent_id} LIMIT 1`.execute(
      database,
    );
    const colleague = rows[0]!.id;
    const ranked = (await rankMemories(database, colleague, ['tea dog'])).map(({ key, core }) => ({ key, core }));
    expect(ranked).toEqual([{ key: 'tea', core: true }]);
    expect(await readMemories(database, colleague, ['tea', 'dog'])).toEqual([{ ...tea, category: 'core' }]);
    expect(await forgetMemory(database, colleague, 'dog')).toBe(false);
    expect(await forgetMemory(database, colleague, 'tea')).toBe(true);
    expect(await call('recall', { query: 'tea' })).toMatchObject({ text: 'No memory matches.' });
  });

  it('do not hide a text of the user that all agents have, unless the agent repeats it', async () => {
    const { call, path } = await begin();
    await world.user.post(path, { ...tea, scope: 'workspace' }, 200);
    const own = { ...tea, content: 'Oolong.', scope: 'agent' };
    expect(await call('remember', own)).toMatchObject({ failed: true, text: expect.stringContaining(tea.content) });
    expect(await call('remember', { ...own, replaces: tea.content })).toMatchObject({ failed: false });
  });

  it('save again what an agent forgot', async () => {
    const { call } = await begin();
    await call('remember', tea);
    await call('forget', { key: 'tea' });
    expect(await call('remember', tea)).toMatchObject({ failed: false });
  });

  it('respect the limits of memories', async () => {
    const { call, memories } = await begin({ perAgent: 1, contentBytes: 10 });
    expect(await call('remember', { key: 'a', content: 'x'.repeat(11) })).toMatchObject({ failed: true });
    await call('remember', { key: 'a', content: 'x' });
    expect(await call('remember', { key: 'b', content: 'x' })).toMatchObject({
      failed: true,
      text: 'There are 1 memories already. Forget one first.',
    });
    expect(await memories()).toEqual(['a: x']);
  });
});
