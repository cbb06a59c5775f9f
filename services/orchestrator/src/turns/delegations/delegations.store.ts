import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';

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

const COLUMNS = [
  'turn_id as turnId',
  'parent_turn_id as parentTurnId',
  'call_id as callId',
  'message_id as messageId',
] as const;

const open = (db: Database) => db.selectFrom('delegations').select(COLUMNS).where('status', '=', 'running');

/** True while the call's task is unfinished. */
export async function isDelegationOpen(db: Database, parentTurnId: string, callId: string): Promise<boolean> {
  return (
    (await open(db).where('parent_turn_id', '=', parentTurnId).where('call_id', '=', callId).executeTakeFirst()) !==
    undefined
  );
}

export function findOpenDelegations(db: Database, parentTurnId: string): Promise<OpenDelegation[]> {
  return open(db).where('parent_turn_id', '=', parentTurnId).orderBy('created_at').orderBy('turn_id').execute();
}

export function findDelegationOfTurn(db: Database, turnId: string): Promise<OpenDelegation | undefined> {
  return open(db).where('turn_id', '=', turnId).executeTakeFirst();
}

export function findDelegationOfMessage(db: Database, messageId: string): Promise<OpenDelegation | undefined> {
  return open(db).where('message_id', '=', messageId).executeTakeFirst();
}

/** Reads the turn that gave a task, after the task has ended. */
export function findWaitingTurn(db: Database, turnId: string): Promise<WaitingTurn | undefined> {
  return db
    .selectFrom('turns as t')
    .select([
      sql<boolean>`t.status IN ('queued', 'running')`.as('isRunning'),
      sql<boolean>`t.status = 'done' AND EXISTS (SELECT FROM turn_contexts c WHERE c.turn_id = t.id)`.as('isSuspended'),
      't.stop_requested as stopRequested',
    ])
    .where('t.id', '=', turnId)
    .executeTakeFirst();
}
