import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { insertAgentData, insertMessages, insertTurns, insertWorkspaces } from '../../../test/bulk-data.js';
import { createMigratedDatabase, type MigratedDatabase } from '../../../test/database.js';
import { sequentialScans } from '../../../test/query-plans.js';
import type { Database } from '../../platform/database/database.js';
import { createWorkflowStore, type WorkflowStore } from './workflows.store.js';

const WORKSPACES = 1_000;
const MESSAGES = 10;
const ID = '00000000-0000-7000-8000-000000000000';
const GONE = { turnIds: [ID], messageIds: [ID] };
const POSITION = { time: new Date(0).toISOString(), key: ID };

describe('statements about workflows in a large database', () => {
  let db: MigratedDatabase;
  beforeAll(async () => {
    db = await createMigratedDatabase();
    await insertWorkspaces(db.database, WORKSPACES);
    await insertMessages(db.database, MESSAGES);
    await insertTurns(db.database);
    await insertAgentData(db.database, 2);
    await sql`VACUUM ANALYZE`.execute(db.database);
  });
  afterAll(() => db.close());

  it.each<[string, (store: WorkflowStore, database: Database) => Promise<unknown>]>([
    ['a page', (store) => store.list(ID, 50)],
    ['a later page', (store) => store.list(ID, 50, POSITION)],
    ['the steps of several workflows', (store) => store.steps([ID, ID])],
    ['the steps of a list', (store) => store.stepSummaries([ID, ID])],
    ['one workflow', (store) => store.find(ID)],
    ['the number of running workflows', (store, database) => store.countRunning(ID, database)],
    ['the step of a turn', (store, database) => store.ofTurn({ usage_turn_id: ID }, database)],
    ['the turns of running steps', (store, database) => store.turnsOf(ID, database)],
    ['the workflow of a message', (store) => store.shownBy(ID)],
    ['the workflow of a report', (store) => store.reportedBy(ID)],
    ['the workflows without turns and messages', (store, database) => store.runningWithout(GONE, database)],
  ])('%s uses an index', async (_what, use) => {
    expect(await sequentialScans(db.database, (database) => use(createWorkflowStore(database), database))).toEqual([]);
  });
});
