import { describe, expect, it } from '@jest/globals';
import { storeArtifact } from '../../../test/artifacts.js';
import { beginToolTurn } from '../../../test/tool-turn.js';
import { useTurnFixture } from '../../../test/turn-fixture.js';
import { createMemoryTools } from '../../workspaces/agents/memory-tools.js';
import {
  findUntrustedSources,
  recordWrittenTexts,
  addUntrustedSources,
  recordReadTexts,
} from './untrusted-content.store.js';

const tea = { key: 'tea', content: 'The user drinks green tea.' };

describe('content from others', () => {
  const world = useTurnFixture();
  const sources = async (conversationId: string) =>
    (await findUntrustedSources(world.uswarm.database, conversationId)).toSorted();
  async function flags(agentId: string): Promise<Record<string, boolean>> {
    const { database } = world.uswarm;
    const query = database.selectFrom('agent_memories').select(['key', 'untrusted']).where('agent_id', '=', agentId);
    return Object.fromEntries((await query.execute()).map(({ key, untrusted }) => [key, untrusted]));
  }
  const artifacts = (id: string) =>
    world.uswarm.database
      .selectFrom('artifact_versions')
      .select('untrusted')
      .where('artifact_id', '=', id)
      .orderBy('version')
      .execute();

  const begin = async () => {
    const limits = { perAgent: 500, contentBytes: 8_192 };
    const begun = await beginToolTurn(world, createMemoryTools({ database: world.turnWorker.stores.database, limits }));
    const { conversation_id: conversationId, agent_id: agentId } = begun.turn;
    const searched = () =>
      begun.writer.tool(
        { callId: 's', content: { type: 'tool_status', tool: 'web_search_tool', description: '', state: 'running' } },
        'web',
      );
    return { ...begun, conversationId, agentId, searched };
  };

  it('is stored with the line of the call that returns it, or not at all', async () => {
    const { job, conversationId, searched } = await begin();
    const stale = await world.turnWorker.writerOf({ ...job, leaseId: '00000000-0000-7000-8000-000000000000' });
    const line = { type: 'tool_status', tool: 't', description: '', state: 'running' } as const;
    await expect(stale.tool({ callId: 's', content: line }, 'web')).rejects.toThrow();
    expect(await sources(conversationId)).toEqual([]);
    await searched();
    await searched();
    expect(await sources(conversationId)).toEqual(['web']);
  });

  it('makes memories untrusted that are saved after it, until the user saves them', async () => {
    const { call, searched, agentId, conversationId } = await begin();
    await call('remember', { key: 'dog', content: 'The dog is called Rex.' });
    await searched();
    await call('remember', tea);
    expect(await flags(agentId)).toEqual({ dog: false, tea: true });
    await call('recall', { query: 'dog' });
    expect(await sources(conversationId)).toEqual(['web']);
    await call('recall', { query: 'tea' });
    expect(await sources(conversationId)).toEqual(['memory', 'web']);
    await world.user.post(`/v1/agents/${agentId}/memories`, tea, 200);
    expect(await flags(agentId)).toEqual({ dog: false, tea: false });
  });

  it('makes a memory trusted again that is replaced in another conversation', async () => {
    const { call, agentId, conversationId } = await begin();
    await world.uswarm.database
      .insertInto('agent_memories')
      .values({ agent_id: agentId, ...tea, category: 'general', untrusted: true, written_by: 'agent' })
      .execute();
    await call('remember', { ...tea, content: 'The user drinks black tea.' });
    expect(await flags(agentId)).toEqual({ tea: false });
    expect(await sources(conversationId)).toEqual([]);
  });

  it('makes memories untrusted that all agents have', async () => {
    const { call, searched, turn, agentId, conversationId } = await begin();
    await searched();
    await call('remember', { ...tea, category: 'core' });
    const { database } = world.uswarm;
    const rows = await database.selectFrom('agent_memories').select(['untrusted', 'workspace_id']).execute();
    expect(rows).toContainEqual({ untrusted: true, workspace_id: turn.workspace_id });
    const colleague = await database
      .selectFrom('agents')
      .select('id')
      .where('workspace_id', '=', turn.workspace_id)
      .where('id', '<>', agentId)
      .executeTakeFirstOrThrow();
    await database.deleteFrom('untrusted_contents').where('conversation_id', '=', conversationId).execute();
    const reader = { id: turn.id, conversation_id: conversationId, agent_id: colleague.id };
    await recordReadTexts(database, reader, [{ kind: 'memory', key: 'tea' }]);
    expect(await sources(conversationId)).toEqual(['memory']);
  });

  it('is in a conversation whose turn begins with such a memory', async () => {
    const { writer, agentId, conversationId } = await begin();
    await world.uswarm.database
      .insertInto('agent_memories')
      .values({ agent_id: agentId, ...tea, category: 'core', untrusted: true })
      .execute();
    const agentContext = { memories: [{ ...tea, category: 'core' }] };
    await writer.setInstance({
      instance: { id: 'i', budgeted: false, context: { agentContext, members: [] } as never },
      untrusted: ['attachment'],
    });
    expect(await sources(conversationId)).toEqual(['attachment', 'memory']);
  });

  it('is known for each version of a document', async () => {
    const { turn, conversationId } = await begin();
    const { database } = world.uswarm;
    const id = await storeArtifact(world.uswarm, { ...world.home, conversationId }, 'Plan', ['one', 'two']);
    const version = (number: number) => [{ kind: 'artifact', id, version: number }] as const;
    await recordWrittenTexts(database, turn, version(1));
    await addUntrustedSources(database, turn, ['app']);
    await recordWrittenTexts(database, turn, version(2));
    expect(await artifacts(id)).toEqual([{ untrusted: false }, { untrusted: true }]);
    await database.deleteFrom('untrusted_contents').where('conversation_id', '=', conversationId).execute();
    await recordReadTexts(database, turn, version(1));
    expect(await sources(conversationId)).toEqual([]);
    await recordReadTexts(database, turn, [...version(1), ...version(2)]);
    expect(await sources(conversationId)).toEqual(['artifact']);
  });

  it('is forgotten with its conversation', async () => {
    const { searched, conversationId } = await begin();
    await searched();
    await world.uswarm.database.deleteFrom('conversations').where('id', '=', conversationId).execute();
    expect(await sources(conversationId)).toEqual([]);
  });
});
