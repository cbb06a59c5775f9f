import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { MEMORY_QUESTIONS, otherMemories } from '../../../test/memory-questions.js';
import { first, startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';
import { chooseMemories, CORE_BYTES, RELEVANT_BYTES } from '../../turns/request/choose-memories.js';
import { readMemories, rankMemories } from '../../records/memories.store.js';

describe('the relevance of memories', () => {
  let uswarm: TestOrchestrator;
  let agentId: string;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
  });
  afterAll(() => uswarm.close());
  beforeEach(async () => {
    const { agents } = await uswarm.home(await uswarm.user());
    agentId = first(agents).id;
  });

  /** Inserts memories, each changed one second after the one before. */
  const remember = (contents: readonly string[], category = 'note', prefix = 'note') =>
    sql`INSERT INTO agent_memories (agent_id, key, content, category, updated_at)
      SELECT ${agentId}, ${prefix} || '-' || n, content, ${category}, '2026-01-01'::timestamptz + n * interval '1 second'
      FROM unnest(${contents}::text[]) WITH ORDINALITY t (content, n)`.execute(uswarm.database);

  async function contentsOf(keys: readonly string[]): Promise<string[]> {
    return (await readMemories(uswarm.database, agentId, keys)).map(({ content }) => content);
  }

  it('finds the memory that answers a question among the first ten of 500, in nine of ten cases', async () => {
    const memories = MEMORY_QUESTIONS.map(({ memory }) => memory);
    await remember([...memories, ...otherMemories(500 - memories.length)]);
    const missed: string[] = [];
    for (const { memory, question } of MEMORY_QUESTIONS) {
      const ranked = await rankMemories(uswarm.database, agentId, [question]);
      const best = await contentsOf(ranked.slice(0, 10).map(({ key }) => key));
      if (!best.includes(memory)) missed.push(question);
    }
    expect(MEMORY_QUESTIONS).toHaveLength(60);
    expect({ missed, recall: 1 - missed.length / MEMORY_QUESTIONS.length >= 0.9 }).toMatchObject({ recall: true });
  });

  it('finds the subject of a follow-up question in the message before it', async () => {
    await remember(['The cat is called Babbage', ...otherMemories(450)]);
    const ranked = await rankMemories(uswarm.database, agentId, [
      'And how old is it?',
      'What do you know about Babbage?',
    ]);
    expect(await contentsOf(ranked.slice(0, 10).map(({ key }) => key))).toContain('The cat is called Babbage');
  });

  it('prefers the last changed of memories that are equally relevant', async () => {
    await remember(['tea', 'tea', 'tea', 'unrelated', 'unrelated']);
    const ranked = await rankMemories(uswarm.database, agentId, ['tea?']);
    expect(ranked.map(({ key }) => key)).toEqual(['note-3', 'note-2', 'note-1', 'note-5', 'note-4']);
  });

  it.each(['core', 'User', 'profile', 'preferences', 'pinned'])(
    'is ignored for memories of the category %s, which every turn receives',
    async (category) => {
      await remember(['Speaks German'], category, 'mine');
      await remember(Array.from({ length: 400 }, (_, n) => `tea ${n} ${'x'.repeat(100)}`));
      expect(chooseMemories(await rankMemories(uswarm.database, agentId, ['tea']))[0]).toBe('mine-1');
    },
  );

  it('keeps the memories of a turn within 24 KiB and the rows within a bound, with 10,000 memories', async () => {
    const contents = Array.from({ length: 5_000 }, (_, n) => `Tea number ${n} ${'with milk '.repeat(n % 40)}`);
    await remember(contents, 'core', 'mine');
    await remember(contents);
    const ranked = await rankMemories(uswarm.database, agentId, ['Which tea number has milk?']);
    expect(ranked.length).toBeLessThanOrEqual(800);
    const chosen = await readMemories(uswarm.database, agentId, chooseMemories(ranked));
    const bytes = chosen.reduce(
      (sum, { key, content, category }) => sum + Buffer.byteLength(key + content + category),
      0,
    );
    expect(bytes).toBeLessThanOrEqual(CORE_BYTES + RELEVANT_BYTES);
    expect(bytes).toBeGreaterThan(CORE_BYTES);
    expect(CORE_BYTES + RELEVANT_BYTES).toBe(24 * 1024);
  });

  it('is independent of memories of other agents', async () => {
    await remember(['tea']);
    const { agents } = await uswarm.home(await uswarm.user());
    expect(await rankMemories(uswarm.database, first(agents).id, ['tea'])).toEqual([]);
  });
});
