import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { MessageData, MessagePage } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { sql } from 'kysely';
import { rankMemories } from '../records/memories.store.js';
import { first, startTestOrchestrator, type TestOrchestrator } from '../../test/test-orchestrator.js';

const [up = '', down = ''] = readFileSync(
  new URL('../../migrations/0050_search_fold.sql', import.meta.url),
  'utf8',
).split('-- Down Migration');

describe('the migration of the search', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ environment: { UPKEEP_WORKERS: '1' } });
  });
  afterAll(() => uswarm.close());

  it('finds messages and memories of the previous release by the new normalization', async () => {
    const user = await uswarm.user();
    const home = await uswarm.home(user);
    const { rows } = await sql<{ id: string }>`
      SELECT id FROM agents WHERE workspace_id = ${home.workspaceId} LIMIT 1`.execute(uswarm.database);
    const agentId = first(rows).id;
    const score = async () => first(await rankMemories(uswarm.database, agentId, ['automobil'])).score;
    const search = async (q: string) =>
      (await user.get<MessagePage>(`${home.messages}/search?${new URLSearchParams({ q })}`)).body.data.map(
        ({ id }) => id,
      );

    await sql.raw(down).execute(uswarm.database);
    const content = { type: 'text', text: 'I don’t know' };
    const { id } = (await user.post<{ data: MessageData }>(home.messages, { content }, 201)).body.data;
    await sql`INSERT INTO agent_memories (agent_id, key, content, category)
      VALUES (${agentId}, 'k', ${'auto\u00admobil'}, 'other')`.execute(uswarm.database);
    const before = { found: await search("don't"), score: await score() };
    expect(before.found).toEqual([]);

    await sql.raw(up).execute(uswarm.database);
    expect(await eventually(() => search("don't"), { until: (found) => found.length > 0 })).toEqual([id]);
    expect(await eventually(score, { until: (now) => now !== before.score })).toBeGreaterThan(before.score);
    const left = () => sql`SELECT FROM work WHERE kind IN ('search-fold', 'memory-fold')`.execute(uswarm.database);
    expect((await eventually(left, { until: ({ rows: jobs }) => jobs.length === 0 })).rows).toEqual([]);
  });
});
