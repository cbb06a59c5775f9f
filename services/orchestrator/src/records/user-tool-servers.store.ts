import { sql } from 'kysely';
import type { Database, Transaction } from '../platform/database/database.js';

export interface UserServer {
  name: string;
  url: string;
  auth: 'none' | 'bearer' | 'oauth';
  clientId: string | null;
}

export interface UserServerRow extends UserServer {
  id: string;
  userId: string;
}

/** A server as its user sees it. */
export interface UserServerState extends UserServerRow {
  failure: string | null;
  createdAt: Date;
  /** Tools that agents can have. */
  tools: number;
}

const ROW = ['id', 'user_id as userId', 'name', 'url', 'auth', 'client_id as clientId'] as const;

export function listUserServers(db: Database, userId: string): Promise<UserServerRow[]> {
  return db
    .selectFrom('user_tool_servers')
    .select(ROW)
    .where('user_id', '=', userId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

export function findUserServer(db: Database, userId: string, id: string): Promise<UserServerRow | undefined> {
  return db
    .selectFrom('user_tool_servers')
    .select(ROW)
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .executeTakeFirst();
}

export function listUserServerStates(db: Database, userId: string): Promise<UserServerState[]> {
  return db
    .selectFrom('user_tool_servers as s')
    .select([...ROW, 'failure', 'created_at as createdAt'])
    .select((eb) =>
      eb
        .selectFrom('tool_definitions as d')
        .select(sql<number>`count(*)`.as('count'))
        .whereRef('d.owner_id', '=', 's.user_id')
        .whereRef('d.server', '=', 's.id')
        .where('d.is_listed', '=', true)
        .where('d.changed', 'is', null)
        .$asScalar()
        .$notNull()
        .as('tools'),
    )
    .where('s.user_id', '=', userId)
    .orderBy('s.created_at')
    .orderBy('s.id')
    .execute();
}

/** Keeps the server until the transaction ends. @returns false if the user has removed it */
export async function holdUserServer(tx: Transaction, id: string): Promise<boolean> {
  const row = await tx.selectFrom('user_tool_servers').select('id').where('id', '=', id).forShare().executeTakeFirst();
  return row !== undefined;
}

export async function insertUserServer(
  tx: Transaction,
  { id, userId, name, url, auth, clientId }: UserServerRow,
): Promise<void> {
  await tx
    .insertInto('user_tool_servers')
    .values({ id, user_id: userId, name, url, auth, client_id: clientId })
    .execute();
}

export async function changeUserServer(tx: Transaction, { id, name, auth, clientId }: UserServerRow): Promise<void> {
  await tx
    .updateTable('user_tool_servers')
    .set({ name, auth, client_id: clientId, failure: null })
    .where('id', '=', id)
    .execute();
}

/** Notes how the last listing ended; writes nothing if the one before ended in the same way. */
export async function noteListing(db: Database, id: string, failure: string | null): Promise<void> {
  await db
    .updateTable('user_tool_servers')
    .set({ failure })
    .where('id', '=', id)
    .where('failure', 'is distinct from', failure)
    .execute();
}

/** @returns false if the user has no such server */
export async function deleteUserServer(tx: Transaction, userId: string, id: string): Promise<boolean> {
  const row = await tx
    .deleteFrom('user_tool_servers')
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

/** @returns the ids of the deleted servers */
export async function deleteUserServers(tx: Transaction, userId: string): Promise<string[]> {
  const rows = await tx.deleteFrom('user_tool_servers').where('user_id', '=', userId).returning('id').execute();
  return rows.map(({ id }) => id);
}
