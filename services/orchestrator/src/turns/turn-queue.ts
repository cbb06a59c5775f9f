import { ApiError, LIMITS } from '@uswarm/contract';
import type { Transaction } from '../platform/database/database.js';
import { allInOrder } from '../platform/database/pipelined.js';
import type { JobQueue } from '../platform/jobs/job-queue.js';
import type { UsageLimits } from '../metering/usage-limits.js';
import { TURN_JOB } from '../records/turn-job.js';
import { nextTurnId } from './turn-ids.js';
import { type TurnRow, resumeTurn } from './turns.store.js';
import { type NewTurn, insertTurn } from '../records/turn-rows.js';

/** About one turn's duration. */
const QUEUE_RETRY_MS = 5_000;

export const queueFull = (): ApiError => new ApiError('turn_queue_full', { extra: { retry_after_ms: QUEUE_RETRY_MS } });

/** For turns that are not refused. */
const UNLIMITED = Number.MAX_SAFE_INTEGER;

export interface QueuedTurn extends Omit<NewTurn, 'id'> {
  userId: string;
  /** Seq of the message that the turn answers. */
  ordinal: number;
}

export interface TurnQueue {
  /**
   * A conversation's turns run one at a time in the order of `ordinal`, the seq of the user message. Turns for one user
   * message run in the order in which they are enqueued.
   *
   * @throws ApiError `token_limit_reached`, `turn_queue_full`
   */
  enqueue(turn: QueuedTurn, tx: Transaction): Promise<void>;
  /** Continues a suspended turn without a user message, after the turns with a lower `ordinal`. */
  continue(turn: TurnRow, ordinal: number, tx: Transaction): Promise<void>;
  /** Lets an agent answer although the user sent no further message: it is not refused. */
  follow(turn: QueuedTurn, tx: Transaction): Promise<void>;
}

export function createTurnQueue(
  jobs: Pick<JobQueue, 'enqueue'>,
  limits: Pick<UsageLimits, 'requireTokensLeft'>,
): TurnQueue {
  async function insert(turn: NewTurn, tx: Transaction): Promise<void> {
    if (await insertTurn(tx, turn, LIMITS.queuedTurns)) return;
    throw queueFull();
  }

  const jobOf = (
    id: string,
    { workspaceId, userId, ordinal }: Pick<QueuedTurn, 'workspaceId' | 'userId' | 'ordinal'>,
  ) => ({
    kind: TURN_JOB,
    subjectId: id,
    workspaceId,
    ordinal,
    fairKey: userId,
  });

  return {
    async enqueue({ userId, ordinal, ...turn }, tx) {
      const id = nextTurnId();
      const { workspaceId, conversationId } = turn;
      // An error rolls back all statements.
      await allInOrder([
        limits.requireTokensLeft(workspaceId, tx),
        insert({ id, ...turn }, tx),
        jobs.enqueue({ ...jobOf(id, { workspaceId, userId, ordinal }), serialKey: conversationId }, tx),
      ]);
    },

    async continue({ id: suspendedId, task_depth: taskDepth, ...turn }, ordinal, tx) {
      const id = nextTurnId();
      const { workspace_id: workspaceId, conversation_id: conversationId, user_id: userId } = turn;
      const userMessageId = turn.user_message_id;
      await insertTurn(tx, { id, workspaceId, conversationId, agentId: turn.agent_id, userMessageId }, UNLIMITED);
      await resumeTurn(tx, id, suspendedId);
      const job = jobOf(id, { workspaceId, userId, ordinal });
      await jobs.enqueue(taskDepth === null ? { ...job, serialKey: conversationId } : job, tx);
    },

    async follow({ userId, ordinal, ...turn }, tx) {
      const id = nextTurnId();
      const { workspaceId, conversationId } = turn;
      await insertTurn(tx, { id, ...turn }, UNLIMITED);
      await jobs.enqueue({ ...jobOf(id, { workspaceId, userId, ordinal }), serialKey: conversationId }, tx);
    },
  };
}
