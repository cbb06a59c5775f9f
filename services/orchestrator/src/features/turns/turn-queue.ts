import { randomUUIDv7 } from 'node:crypto';
import type { Database } from '../../database/database.js';
import type { WorkStore } from '../../work/work.store.js';
import type { UsageLimits } from '../usage/usage-limits.js';
import type { NewTurn, TurnStore } from './turns.store.js';

export const TURN_WORK = 'turn';

/** Replies that wait to be written. */
export interface TurnQueue {
  /**
   * `ordinal` is the seq of the user's message: turns of a conversation run in this order, one at a time.
   *
   * @throws ApiError `token_limit_reached`
   */
  enqueue(turn: Omit<NewTurn, 'id'> & { ordinal: number }, db: Database): Promise<void>;
  /** How many replies of the conversation are queued or running. */
  waiting(conversationId: string, db: Database): Promise<number>;
}

export function createTurnQueue(
  store: Pick<TurnStore, 'insert' | 'countActive'>,
  work: Pick<WorkStore, 'enqueue'>,
  limits: Pick<UsageLimits, 'requireRoom'>,
): TurnQueue {
  return {
    async enqueue({ ordinal, ...turn }, db) {
      // Here, so that whatever asks the agents for something is refused before anything is stored.
      await limits.requireRoom(turn.workspaceId, db);
      const id = randomUUIDv7();
      await store.insert({ id, ...turn }, db);
      await work.enqueue(
        { kind: TURN_WORK, subjectId: id, workspaceId: turn.workspaceId, serialKey: turn.conversationId, ordinal },
        db,
      );
    },
    waiting: (conversationId, db) => store.countActive(conversationId, db),
  };
}
