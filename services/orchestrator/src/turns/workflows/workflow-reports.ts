import { reportPrompt } from './workflow-texts.js';
import type { WorkflowStore } from './workflows.store.js';

export interface WorkflowReports {
  /**
   * @returns what the answering agent reads instead of the message; undefined unless the message tells that a workflow
   * has ended
   */
  promptFor(messageId: string): Promise<string | undefined>;
}

export const createWorkflowReports = (store: Pick<WorkflowStore, 'reportedBy' | 'steps'>): WorkflowReports => ({
  async promptFor(messageId) {
    const workflow = await store.reportedBy(messageId);
    // The message id is random, newer than the last result, and the same for each of the turn's generations.
    return workflow && reportPrompt(messageId, workflow, await store.steps([workflow.id]));
  },
});
