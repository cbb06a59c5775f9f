import { randomUUIDv7 } from 'node:crypto';
import { ApiError, LIMITS } from '@uswarm/contract';
import type { Transaction } from '../../database/database.js';
import { allInOrder } from '../../database/pipelined.js';
import type { JobStore } from '../../jobs/job-store.js';
import type { UsageLimits } from '../usage/usage-limits.js';
import type { NewTurn, TurnStore } from './turns.store.js';

export const TURN_JOB = 'turn';

/** The retry hint for a full queue: about the duration of a turn. */
const QUEUE_RETRY_MS = 5_000;

/** The length of the timestamp at the start of a UUID of version 7. */
const TIMESTAMP_LENGTH = 13;

export interface TurnQueue {
  /**
   * Turns of a conversation run one at a time in the order of `ordinal`, the seq of the user message. Turns of one user
   * message run in the order in which they are enqueued. A turn with `resumes` continues the suspended turn with this id.
   * The transaction can be a pipelined one; `userId` is the owner of the workspace.
   *
   * @throws ApiError `token_limit_reached`, `turn_queue_full`
   */
  enqueue(
    turn: Omit<NewTurn, 'id'> & { userId: string; ordinal: number; resumes?: string },
    tx: Transaction,
  ): Promise<void>;
}

export function createTurnQueue(
  store: Pick<TurnStore, 'insert' | 'resume'>,
  jobs: Pick<JobStore, 'enqueue'>,
  limits: Pick<UsageLimits, 'requireTokensLeft'>,
): TurnQueue {
  let last = '';
  /** Returns increasing ids, which order the turns of one message. UUIDs of the same millisecond are unordered. */
  function nextId(): string {
    let id = randomUUIDv7();
    while (id.slice(0, TIMESTAMP_LENGTH) === last.slice(0, TIMESTAMP_LENGTH) && id <= last) id = randomUUIDv7();
    last = id;
    return id;
  }

  async function insert(turn: NewTurn, tx: Transaction): Promise<void> {
    if (await store.insert(turn, LIMITS.queuedTurns, tx)) return;
    throw new ApiError('turn_queue_full', { extra: { retry_after_ms: QUEUE_RETRY_MS } });
  }

  return {
    async enqueue({ userId, ordinal, resumes, ...turn }, tx) {
      const id = nextId();
      const { workspaceId, conversationId } = turn;
      const job = { kind: TURN_JOB, subjectId: id, workspaceId, serialKey: conversationId, ordinal, fairKey: userId };
      // An error rolls back all of them.
      await allInOrder([
        limits.requireTokensLeft(workspaceId, tx),
        insert({ id, ...turn }, tx),
        ...(resumes === undefined ? [] : [store.resume(id, resumes, tx)]),
        jobs.enqueue(job, tx),
      ]);
    },
  };
}
