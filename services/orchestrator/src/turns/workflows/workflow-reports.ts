import { reportPrompt } from './workflow-texts.js';
import { findWorkflowReportedBy, findWorkflowSteps } from './workflows.store.js';
import type { Database } from '../../platform/database/database.js';

export interface WorkflowReports {
  /**
   * @returns what the answering agent reads instead of the message; undefined unless the message tells that a workflow
   * has ended
   */
  promptFor(messageId: string): Promise<string | undefined>;
}

export const createWorkflowReports = (database: Database): WorkflowReports => ({
  async promptFor(messageId) {
    const workflow = await findWorkflowReportedBy(database, messageId);
    // The message id is random, newer than the last result, and the same for each of the turn's generations.
    return workflow && reportPrompt(messageId, workflow, await findWorkflowSteps(database, [workflow.id]));
  },
});
