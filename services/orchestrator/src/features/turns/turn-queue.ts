import { randomUUIDv7 } from 'node:crypto';
import { ApiError, LIMITS } from '@uswarm/contract';
import type { Transaction } from '../../database/database.js';
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
   *
   * @throws ApiError `token_limit_reached`, `turn_queue_full`
   */
  enqueue(turn: Omit<NewTurn, 'id'> & { ordinal: number; resumes?: string }, tx: Transaction): Promise<void>;
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

  return {
    async enqueue({ ordinal, resumes, ...turn }, tx) {
      // Rejects every request for a turn before anything is stored.
      await limits.requireTokensLeft(turn.workspaceId, tx);
      const id = nextId();
      const inserted = await store.insert({ id, ...turn }, LIMITS.queuedTurns, tx);
      if (inserted === undefined) {
        throw new ApiError('turn_queue_full', { extra: { retry_after_ms: QUEUE_RETRY_MS } });
      }
      if (resumes !== undefined) await store.resume(id, resumes, tx);
      await jobs.enqueue(
        {
          kind: TURN_JOB,
          subjectId: id,
          workspaceId: turn.workspaceId,
          serialKey: turn.conversationId,
          ordinal,
          fairKey: inserted.userId,
        },
        tx,
      );
    },
  };
}
