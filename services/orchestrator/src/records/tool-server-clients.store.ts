import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';

export interface ToolServerClient {
  server: string;
  /** As stored by `server-accounts.ts`. */
  client: Record<string, unknown>;
  keyId: string | null;
  secret: Buffer | null;
}

export interface ToolServerClientRow extends ToolServerClient {
  updatedAt: Date;
}

const ROW = ['server', 'client', 'key_id as keyId', 'secret', 'updated_at as updatedAt'] as const;

export function findServerClient(db: Database, server: string): Promise<ToolServerClientRow | undefined> {
  return db.selectFrom('tool_server_clients').select(ROW).where('server', '=', server).executeTakeFirst();
}

/**
 * Stores a client, unless another process was faster: users may have begun to connect with that one.
 *
 * @param replaces the stored client as it was read
 */
export async function storeServerClient(
  db: Database,
  { server, client, keyId, secret }: ToolServerClient,
  replaces: Pick<ToolServerClientRow, 'updatedAt'> | undefined,
): Promise<void> {
  const values = { client: JSON.stringify(client), key_id: keyId, secret, updated_at: sql<Date>`clock_timestamp()` };
  await db
    .insertInto('tool_server_clients')
    .values({ server, ...values })
    .onConflict((conflict) =>
      conflict
        .column('server')
        .doUpdateSet(values)
        .where(
          sql<boolean>`date_trunc('milliseconds', tool_server_clients.updated_at) = ${replaces?.updatedAt ?? null}`,
        ),
    )
    .execute();
}

/** Deletes the client of a server that its user has removed, unless tokens must be revoked with it first. */
export async function deleteUnusedClient(tx: Database, server: string): Promise<void> {
  await sql`
    DELETE FROM tool_server_clients WHERE server = ${server} AND starts_with(server, 'own_')
      AND NOT EXISTS (SELECT FROM user_tool_servers WHERE id = ${server})
      AND NOT EXISTS (SELECT FROM integration_revocations WHERE provider = ${`mcp:${server}`})`.execute(tx);
}
