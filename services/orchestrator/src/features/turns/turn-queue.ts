import { randomUUIDv7 } from 'node:crypto';
import { ApiError, LIMITS } from '@uswarm/contract';
import type { Transaction } from '../../database/database.js';
import { allInOrder } from '../../database/pipelined.js';
import type { JobStore } from '../../jobs/job-store.js';
import type { UsageLimits } from '../usage/usage-limits.js';
import type { NewTurn, TurnRow, TurnStore } from './turns.store.js';

export const TURN_JOB = 'turn';

/** The retry hint for a full queue: about the duration of a turn. */
const QUEUE_RETRY_MS = 5_000;

/** For turns that are not refused. */
const UNLIMITED = Number.MAX_SAFE_INTEGER;

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
  /** Continues a suspended turn without a message of the user, after the turns whose `ordinal` is lower. */
  continue(turn: TurnRow, ordinal: number, tx: Transaction): Promise<void>;
  /** Lets an agent answer a message that no user sent. It is not refused. */
  follow(turn: Omit<NewTurn, 'id'> & { userId: string; ordinal: number }, tx: Transaction): Promise<void>;
  /** Lets another agent answer the message of a turn, next in the conversation. `ordinal` is the seq of the message. */
  handOver(turn: TurnRow, agentId: string, ordinal: number, tx: Transaction): Promise<void>;
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

  /** Adds a turn that follows another one. It is not refused, because the user sent no further message. */
  async function insertAfter(turn: TurnRow, agentId: string, userMessageId: string, tx: Transaction): Promise<string> {
    const id = nextId();
    const { workspace_id: workspaceId, conversation_id: conversationId } = turn;
    await store.insert({ id, workspaceId, conversationId, agentId, userMessageId }, UNLIMITED, tx);
    return id;
  }

  const jobOf = (subjectId: string, { workspace_id: workspaceId, user_id: fairKey }: TurnRow, ordinal: number) => ({
    kind: TURN_JOB,
    subjectId,
    workspaceId,
    ordinal,
    fairKey,
  });

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

    async continue(turn, ordinal, tx) {
      const id = await insertAfter(turn, turn.agent_id, turn.user_message_id, tx);
      await store.resume(id, turn.id, tx);
      const isReply = turn.task_depth === null;
      await jobs.enqueue({ ...jobOf(id, turn, ordinal), ...(isReply ? { serialKey: turn.conversation_id } : {}) }, tx);
    },

    async follow({ userId: fairKey, ordinal, ...turn }, tx) {
      const id = nextId();
      const { workspaceId, conversationId } = turn;
      await store.insert({ id, ...turn }, UNLIMITED, tx);
      await jobs.enqueue(
        { kind: TURN_JOB, subjectId: id, workspaceId, serialKey: conversationId, ordinal, fairKey },
        tx,
      );
    },

    async handOver(turn, agentId, ordinal, tx) {
      const id = await insertAfter(turn, agentId, turn.resumes_message_id ?? turn.user_message_id, tx);
      await jobs.enqueue({ ...jobOf(id, turn, ordinal), serialKey: turn.conversation_id }, tx);
    },
  };
}
