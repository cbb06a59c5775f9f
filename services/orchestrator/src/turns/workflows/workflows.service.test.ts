import { expect, it } from '@jest/globals';
import { createListCursors } from '../../records/list-cursor.js';
import { createWorkflowService } from './workflows.service.js';
import type { ListedWorkflow } from './workflows.store.js';
import { NO_TRANSACTION } from '../../../test/transaction.js';

const WORKFLOW: ListedWorkflow = {
  id: 'f',
  workspace_id: 'w',
  conversation_id: 'c',
  user_id: 'u',
  agent_id: 'a',
  agent_slug: 'manager',
  user_message_id: null,
  message_id: 'm',
  name: 'Plan a trip',
  status: 'running',
  created_at: new Date(0),
  finished_at: null,
  position: { time: '1970-01-01T00:00:00.000000Z', key: 'f' },
};

it('a list of workflows does not read the tasks and the results of their steps', async () => {
  const service = createWorkflowService({
    database: NO_TRANSACTION,
    store: {
      listWorkflows: async () => [WORKFLOW],
      findWorkflow: async () => WORKFLOW,
      findWorkflowSteps: () => Promise.reject(new Error('a list has no long texts')),
      findStepSummaries: async () => [
        {
          workflow_id: 'f',
          step_id: 'trains',
          name: 'Find trains',
          agent_id: 'a',
          agent_slug: 'researcher',
          after: [],
          status: 'running',
          turn_id: 't',
          started_at: new Date(0),
          finished_at: null,
        },
      ],
    },
    cancellation: { cancel: async () => true },
    access: { require: async () => undefined } as never,
    cursors: createListCursors('workflows', 'k'.repeat(32)),
  });
  const { data } = await service.list('u', 'w', {});
  expect(data).toMatchObject([{ id: 'f', steps: [{ step_id: 'trains', status: 'running' }] }]);
});
