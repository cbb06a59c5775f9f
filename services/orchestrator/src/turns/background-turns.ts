import { randomUUIDv7 } from 'node:crypto';
import type { Transaction } from '../platform/database/database.js';
import type { JobStore } from '../platform/jobs/job-store.js';
import { TURN_JOB } from '../records/turn-job.js';
import type { NewTask, TurnRow, TurnStore } from './turns.store.js';

/** How a background turn ended. */
export interface TaskResult {
  status: 'completed' | 'failed' | 'stopped';
  /** For the agent or the workflow that gave the task. */
  text: string;
}

/** A feature whose tasks background turns work on. */
export interface TaskOwner {
  /**
   * Stores the result of a task and shows it, in the transaction that ends its turn. Locks the workspace.
   *
   * @returns the sequence of its event; undefined if the turn works on a task of another feature
   */
  ended(turn: TurnRow, result: TaskResult, tx: Transaction): Promise<number | undefined>;
  /** Stops the tasks that depend on a turn that ends. Call it after the workspace is locked. */
  cancel(turnId: string, tx: Transaction): Promise<void>;
}

/** Starts turns that do not answer a message of the user. They run beside the turns of the conversation. */
export interface BackgroundTurns {
  /** @returns the id of the turn */
  start(task: NewTask, tx: Transaction): Promise<string>;
}

export const createBackgroundTurns = (
  turns: Pick<TurnStore, 'insertTask'>,
  jobs: Pick<JobStore, 'enqueue'>,
): BackgroundTurns => ({
  async start(task, tx) {
    const id = randomUUIDv7();
    await turns.insertTask(id, task, tx);
    const { workspaceId, userId } = task;
    await jobs.enqueue({ kind: TURN_JOB, subjectId: id, workspaceId, fairKey: userId }, tx);
    return id;
  },
});

/** Passes the end of a turn to the feature that owns its task. */
export const createTaskOwners = (owners: readonly TaskOwner[]): TaskOwner => ({
  async ended(turn, result, tx) {
    for (const owner of owners) {
      const seq = await owner.ended(turn, result, tx);
      if (seq !== undefined) return seq;
    }
    return undefined;
  },
  async cancel(turnId, tx) {
    for (const owner of owners) await owner.cancel(turnId, tx);
  },
});

/** Whether a turn works on a task, instead of a reply to the user. */
export const isBackground = ({ task_depth: depth }: Pick<TurnRow, 'task_depth'>): boolean => depth !== null;
