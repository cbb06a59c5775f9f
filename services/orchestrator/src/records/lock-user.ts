import type { Database } from '../platform/database/database.js';

/** Locks the user until the transaction ends. @returns false if the user does not exist */
export async function lockUser(db: Database, userId: string): Promise<boolean> {
  const row = await db.selectFrom('users').select('id').where('id', '=', userId).forNoKeyUpdate().executeTakeFirst();
  return row !== undefined;
}
