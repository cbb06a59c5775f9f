import { randomUUIDv7 } from 'node:crypto';
import type { Transaction } from '../platform/database/database.js';
import type { JobQueue } from '../platform/jobs/job-queue.js';
import { TURN_JOB } from '../records/turn-job.js';
import type { TurnRow } from './turns.store.js';
import { type NewTask, insertTask } from '../records/turn-rows.js';

export interface TaskResult {
  status: 'completed' | 'failed' | 'stopped';
  /** Shown to the agent or the workflow that gave the task. */
  text: string;
}

/** Gives tasks to background turns. */
export interface TaskOwner {
  /**
   * Stores and shows a task result in the transaction that ends its turn. Locks the workspace.
   *
   * @returns the sequence of its event; undefined if the turn works on another feature's task
   */
  ended(turn: TurnRow, result: TaskResult, tx: Transaction): Promise<number | undefined>;
  /** Stops the tasks that depend on a turn that ends. Call it after the workspace is locked. */
  cancel(turnId: string, tx: Transaction): Promise<void>;
}

/** Such turns do not answer a user message. They run beside the conversation's other turns. */
export interface BackgroundTurns {
  /** @param serialKey tasks with the same key run one after the other */
  start(task: NewTask, tx: Transaction, serialKey?: string): Promise<string>;
}

export const createBackgroundTurns = (jobs: Pick<JobQueue, 'enqueue'>): BackgroundTurns => ({
  async start(task, tx, serialKey) {
    const id = randomUUIDv7();
    await insertTask(tx, id, task);
    const { workspaceId, userId } = task;
    const lane = serialKey === undefined ? {} : { serialKey };
    await jobs.enqueue({ kind: TURN_JOB, subjectId: id, workspaceId, fairKey: userId, ...lane }, tx);
    return id;
  },
});

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

/** True if the turn works on a task instead of a reply to the user. */
export const isBackground = ({ task_depth: depth }: Pick<TurnRow, 'task_depth'>): boolean => depth !== null;
