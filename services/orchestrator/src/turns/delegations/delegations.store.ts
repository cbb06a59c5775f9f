import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import { endDelegation, insertDelegation, type NewDelegation } from '../../records/turn-part-rows.js';

export interface OpenDelegation {
  turnId: string;
  parentTurnId: string;
  callId: string;
  messageId: string;
}

export interface WaitingTurn {
  isRunning: boolean;
  /** True if the turn is suspended and can be resumed. */
  isSuspended: boolean;
  stopRequested: boolean;
}

export interface DelegationStore {
  insert(delegation: NewDelegation, db: Database): Promise<void>;
  /** True while the call's task is unfinished. */
  isOpen(parentTurnId: string, callId: string, db: Database): Promise<boolean>;
  openOf(parentTurnId: string, db: Database): Promise<OpenDelegation[]>;
  ofTurn(turnId: string, db: Database): Promise<OpenDelegation | undefined>;
  ofMessage(messageId: string, db: Database): Promise<OpenDelegation | undefined>;
  end(turnId: string, status: 'completed' | 'failed', db: Database): Promise<void>;
  /** Reads the turn that gave a task, after the task has ended. */
  waiting(turnId: string, db: Database): Promise<WaitingTurn | undefined>;
}

const COLUMNS = [
  'turn_id as turnId',
  'parent_turn_id as parentTurnId',
  'call_id as callId',
  'message_id as messageId',
] as const;

export function createDelegationStore(): DelegationStore {
  const open = (db: Database) => db.selectFrom('delegations').select(COLUMNS).where('status', '=', 'running');
  return {
    insert: insertDelegation,

    isOpen: async (parentTurnId, callId, db) =>
      (await open(db).where('parent_turn_id', '=', parentTurnId).where('call_id', '=', callId).executeTakeFirst()) !==
      undefined,

    openOf: (parentTurnId, db) =>
      open(db).where('parent_turn_id', '=', parentTurnId).orderBy('created_at').orderBy('turn_id').execute(),

    ofTurn: (turnId, db) => open(db).where('turn_id', '=', turnId).executeTakeFirst(),

    ofMessage: (messageId, db) => open(db).where('message_id', '=', messageId).executeTakeFirst(),

    end: endDelegation,

    waiting: (turnId, db) =>
      db
        .selectFrom('turns as t')
        .select([
          sql<boolean>`t.status IN ('queued', 'running')`.as('isRunning'),
          sql<boolean>`t.status = 'done' AND EXISTS (SELECT FROM turn_contexts c WHERE c.turn_id = t.id)`.as(
            'isSuspended',
          ),
          't.stop_requested as stopRequested',
        ])
        .where('t.id', '=', turnId)
        .executeTakeFirst(),
  };
}
