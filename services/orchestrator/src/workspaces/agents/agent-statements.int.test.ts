import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type PageQuery, pageQuery } from '@uswarm/contract';
import { sql } from 'kysely';
import { createMigratedDatabase, type MigratedDatabase } from '../../../test/database.js';
import { insertWorkspaces } from '../../../test/bulk-data.js';
import { statementsOf } from '../../../test/query-plans.js';
import { currentViewContext } from '../../../test/view-context.js';
import type { Database } from '../../platform/database/database.js';
import { createWithTransaction } from '../../platform/database/transaction.js';
import { loadTools } from '../../platform/core/catalog.js';
import { createCursorCodec } from '../../records/cursor.js';
import { createWorkspaceAccess } from '../workspace-access.js';
import { createAgentAccess } from './agent-access.js';
import { createAgentSettingsService } from './agent-settings.service.js';
import { createAgentService } from './agents.service.js';
import { createAgentContextLoader } from '../../turns/request/agent-context.js';
import { createListCursors } from '../../records/list-cursor.js';
import { createMemoryService } from './memories.service.js';
import * as agentSettingsRecords from '../../records/agent-settings.store.js';
import * as memoryRecords from '../../records/memories.store.js';
import * as integrationRecords from '../../records/integrations.store.js';

function services(database: Database) {
  const access = createAgentAccess(database);
  const tools = loadTools({ INTEGRATION_PROVIDERS: {}, CODE_RUNNER_ENABLED: false, SCHEDULES_ENABLED: true });
  return {
    agents: createAgentService({
      database,
      workspaces: createWorkspaceAccess(database),
      access,
      cursors: createCursorCodec('k'.repeat(32)),
      memoryLimit: 500,
      createViewContext: currentViewContext,
    }),
    settings: createAgentSettingsService({ database, serverTools: async () => [], tools, shownModel: () => 'sonnet' }),
    memories: createMemoryService({
      withTransaction: createWithTransaction(database),
      database,
      access,
      workspaces: createWorkspaceAccess(database),
      cursors: createListCursors('memories', 'k'.repeat(32)),
      limits: { perAgent: 500, contentBytes: 8_192 },
    }),
    loadAgentContext: createAgentContextLoader({
      platformTools: [],
      subAgentModel: 'flash',
      database,
      settings: agentSettingsRecords,
      memories: memoryRecords,
      tools,
      connections: integrationRecords,
    }),
  };
}

describe('the number of statements does not depend on the amount of data', () => {
  let db: MigratedDatabase;
  /** One agent without conversations, and one with a history. */
  const agents: { userId: string; workspaceId: string; id: string }[] = [];
  beforeAll(async () => {
    db = await createMigratedDatabase();
    await insertWorkspaces(db.database, 2);
    const { rows } = await sql<{ userId: string; workspaceId: string; id: string }>`
      SELECT w.owner_id AS "userId", w.id AS "workspaceId", a.id FROM agents a
      JOIN workspaces w ON w.id = a.workspace_id WHERE a.sort_order = 0`.execute(db.database);
    agents.push(...rows);
    const past = rows[1]!;
    await sql`
      WITH talked AS (
        INSERT INTO conversations (id, workspace_id, type, agent_id)
        SELECT gen_random_uuid(), ${past.workspaceId}, 'agent', ${past.id} FROM generate_series(1, 20) RETURNING id
      )
      INSERT INTO messages (id, workspace_id, conversation_id, agent_id, seq, role, content, status)
      SELECT gen_random_uuid(), ${past.workspaceId}, t.id, ${past.id}, row_number() OVER (), 'agent',
        '{"type": "text", "text": "hi"}', 'delivered'
      FROM talked t CROSS JOIN generate_series(1, 20)`.execute(db.database);
    await sql`
      INSERT INTO agent_memories (agent_id, key, content, category)
      SELECT ${past.id}, n::text, 'x', 'core' FROM generate_series(1, 300) n
      UNION ALL VALUES (${rows[0]!.id}::uuid, '1', 'x', 'core')`.execute(db.database);
    await sql`INSERT INTO agent_tools VALUES (${past.id}, 'memories', true), (${past.id}, 'old', true)`.execute(
      db.database,
    );
  });
  afterAll(() => db.close());

  const query: PageQuery = pageQuery.parse({});
  type Agent = (typeof agents)[number];
  it.each<[string, number, (of: ReturnType<typeof services>, agent: Agent) => Promise<unknown>]>([
    ['the list', 2, ({ agents: of }, { userId, workspaceId }) => of.list(userId, workspaceId)],
    ['the summary', 1, ({ agents: of }, { userId, id }) => of.get(userId, id)],
    ['the details', 1, ({ agents: of }, { userId, id }) => of.details(userId, id)],
    ['a page of history', 2, ({ agents: of }, { userId, id }) => of.history(userId, id, query)],
    ['the settings', 1, ({ settings }, { userId, id }) => settings.settings(userId, id)],
    ['a change of settings', 2, ({ settings }, { userId, id }) => settings.update(userId, id, { model: 'opus' })],
    ['the tools', 1, ({ settings }, { userId, id }) => settings.tools(userId, id)],
    [
      'a change of a tool',
      2,
      ({ settings }, { userId, id }) => settings.updateTool(userId, id, 'memories', { enabled: true }),
    ],
    ['the memories', 2, ({ memories }, { userId, id }) => memories.list(userId, id, {})],
    [
      'a memory written',
      5,
      ({ memories }, { userId, id }) => memories.remember(userId, id, { key: 'k', content: '', category: 'core' }),
    ],
    ['a deleted memory', 1, ({ memories }, { userId, id }) => memories.forget(userId, id, 'k')],
    ['the context of an agent', 3, ({ loadAgentContext }, { id }) => loadAgentContext(id, async () => ['tea?'])],
  ])('is for %s: %i', async (_what, count, use) => {
    for (const agent of agents) {
      const statements = await statementsOf(db.database, (database) => use(services(database), agent));
      expect(statements.map(({ sql: text }) => text)).toHaveLength(count);
    }
  });
});
