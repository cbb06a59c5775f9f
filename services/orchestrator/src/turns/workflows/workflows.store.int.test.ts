import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { insertAgentData, insertMessages, insertTurns, insertWorkspaces } from '../../../test/bulk-data.js';
import { createMigratedDatabase, type MigratedDatabase } from '../../../test/database.js';
import { sequentialScans } from '../../../test/query-plans.js';
import type { Database } from '../../platform/database/database.js';
import {
  listWorkflows,
  findWorkflowSteps,
  findStepSummaries,
  findWorkflow,
  countRunningWorkflows,
  findStepOfTurn,
  findStepTurns,
  findWorkflowShownBy,
  findWorkflowReportedBy,
  findWithdrawnWorkflows,
} from './workflows.store.js';

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

  it.each<[string, (database: Database) => Promise<unknown>]>([
    ['a page', (database) => listWorkflows(database, ID, 50)],
    ['a later page', (database) => listWorkflows(database, ID, 50, POSITION)],
    ['the steps of several workflows', (database) => findWorkflowSteps(database, [ID, ID])],
    ['the steps of a list', (database) => findStepSummaries(database, [ID, ID])],
    ['one workflow', (database) => findWorkflow(database, ID)],
    ['the number of running workflows', (database) => countRunningWorkflows(database, ID)],
    ['the step of a turn', (database) => findStepOfTurn(database, { usage_turn_id: ID })],
    ['the turns of running steps', (database) => findStepTurns(database, ID)],
    ['the workflow of a message', (database) => findWorkflowShownBy(database, ID)],
    ['the workflow of a report', (database) => findWorkflowReportedBy(database, ID)],
    ['the workflows without turns and messages', (database) => findWithdrawnWorkflows(database, GONE)],
  ])('%s uses an index', async (_what, use) => {
    expect(await sequentialScans(db.database, use)).toEqual([]);
  });
});
