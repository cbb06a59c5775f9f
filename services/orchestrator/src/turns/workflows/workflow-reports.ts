import { reportPrompt } from './workflow-texts.js';
import type { WorkflowStore } from './workflows.store.js';

/** What agents are told about the end of workflows. */
export interface WorkflowReports {
  /** What the agent that answers a message reads in its place; undefined unless the message tells the end of a workflow. */
  promptFor(messageId: string): Promise<string | undefined>;
}

export const createWorkflowReports = (store: Pick<WorkflowStore, 'reportedBy' | 'steps'>): WorkflowReports => ({
  async promptFor(messageId) {
    const workflow = await store.reportedBy(messageId);
    // The id of the message is random, was created after the last result, and is the same for each generation of the turn.
    return workflow && reportPrompt(messageId, workflow, await store.steps([workflow.id]));
  },
});
